"""Strict type checkers on users' files: nothing is found in a signal one, everything in a bad one.

The package has no stub files: what checkers see is what runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradiva

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parents[1] / "typing"

pytestmark = pytest.mark.full


def marked(name: str) -> set[int]:
    """The numbers of the lines that are marked as wrong."""
    lines = (FILES / name).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_the_package_says_that_it_is_typed() -> None:
    package = Path(gradiva.__file__).parent
    assert (package / "py.typed").exists()
    assert not [path for path in package.rglob("*.pyi") if "typing" not in path.parts]
    assert len(marked("bad.py")) > 25


USER = """
import numpy as np
import gradiva
from gradiva import Batch, DataNode, Tensor, fn, types

Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

def use(batch: Batch, tensor: Tensor, node: DataNode, array: Bytes) -> None:
    b: Batch = gradiva.flip(batch, horizontal=1)
    t: Tensor = gradiva.resize(tensor, size=(4, 4), interp_type=types.INTERP_CUBIC, device="cpu")
    d: DataNode = fn.crop(node, crop=[3, 4], crop_pos_x=batch)
    a: Tensor = gradiva.cast(array, dtype=gradiva.float32)
    reader = gradiva.readers.File(file_root="x", random_shuffle=True)
    for files, labels in reader.next_epoch(batch_size=4):
        gradiva.decoders.image(files, output_type=types.RGB)
"""
MISTAKES = {
    "gradiva.flip(batch, horizontl=1)": "horizontl",
    "gradiva.resize(batch, size='big')": "",
    "fn.crop(node, crop_positon_x=1)": "crop_positon_x",
    "gradiva.random.uniform(rang=(0, 1))": "rang",
    "gradiva.readers.File(file_rot='x')": "file_rot",
    "gradiva.cast(batch)": "dtype",
    "gradiva.flip(batch, device=3)": "device",
}


@pytest.fixture(scope="module")
def found_by_mypy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy, strictly, says of all files. What it knows of the package is that of the project's
    own run, if there was one: else it takes a minute."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    for name in ("good.py", "bad.py"):
        shutil.copy(FILES / name, folder)
    (folder / "call_good.py").write_text(USER)
    (folder / "call_bad.py").write_text(USER + "".join(f"    {line}\n" for line in MISTAKES))
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            f"--config-file={ROOT / 'pyproject.toml'}",
            f"--cache-dir={ROOT / '.mypy_cache'}",
            "good.py",
            "bad.py",
            "call_good.py",
            "call_bad.py",
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    return run.stdout


@pytest.mark.xdist_group("mypy")
def test_mypy(found_by_mypy: str) -> None:
    found = re.findall(r"^(\w+\.py):(\d+): error: (.*)", found_by_mypy, re.MULTILINE)
    assert [entry for entry in found if entry[0] == "good.py"] == []
    bad = [(int(line), text) for name, line, text in found if name == "bad.py"]
    untyped = "Untyped decorator"  # follows from the decorator's wrong argument
    lines = {line for line, text in bad if not text.startswith(untyped)}
    assert lines == marked("bad.py"), found_by_mypy
    assert any("did you mean" in text for _, text in bad)


@pytest.mark.xdist_group("mypy")
def test_mypy_sees_the_parameters(found_by_mypy: str) -> None:
    """It passes a user's good calls, and flags each mistake in the bad ones."""
    assert "call_good.py" not in found_by_mypy, found_by_mypy
    first = len(USER.splitlines())
    for number, (line, word) in enumerate(MISTAKES.items(), first + 1):
        flagged = [text for text in found_by_mypy.splitlines() if f"call_bad.py:{number}:" in text]
        assert flagged, f"not flagged: {line}\n{found_by_mypy}"
        assert any(word in text for text in flagged), (line, flagged)


def test_pyright(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "pythonPlatform": "Linux"}
    for name in ("good.py", "bad.py"):
        shutil.copy(FILES / name, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "--pythonpath",
            sys.executable,
            "--project",
            str(tmp_path),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if not run.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not start: {run.stderr[-300:]}")
    found = [
        (Path(entry["file"]).name, entry["range"]["start"]["line"] + 1, entry["message"])
        for entry in json.loads(run.stdout)["generalDiagnostics"]
        if entry["severity"] == "error"
    ]
    assert [entry for entry in found if entry[0] == "good.py"] == []
    assert {line for _, line, _ in found} == marked("bad.py"), found
