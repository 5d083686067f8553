"""Strict type checkers on users' files: nothing is found in a sound one, everything in a bad one.

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

ROOT = Path(__file__).parent.parent
FILES = Path(__file__).parent / "typing"

pytestmark = pytest.mark.slow


def marked(name: str) -> set[int]:
    """The numbers of the lines that are marked as wrong."""
    lines = (FILES / name).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_the_package_says_that_it_is_typed() -> None:
    package = Path(gradiva.__file__).parent
    assert (package / "py.typed").exists()
    assert not [path for path in package.rglob("*.pyi") if "typing" not in path.parts]
    assert len(marked("bad.py")) > 25


def test_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    run = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
            f"--config-file={tmp_path}/mypy.ini", f"--cache-dir={tmp_path}/cache",
            "good.py", "bad.py",
        ],
        cwd=FILES, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.stderr == ""
    found = re.findall(r"^(\w+\.py):(\d+): error: (.*)", run.stdout, re.MULTILINE)
    assert [entry for entry in found if entry[0] == "good.py"] == []
    untyped = "Untyped decorator"  # follows from the decorator's wrong argument
    lines = {int(line) for _, line, text in found if not text.startswith(untyped)}
    assert lines == marked("bad.py"), run.stdout
    assert "did you mean" in run.stdout


def test_pyright(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT)],
        "pythonPlatform": "Linux",
    }
    for name in ("good.py", "bad.py"):
        shutil.copy(FILES / name, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        [
            sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable,
            "--project", str(tmp_path),
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not run.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not start: {run.stderr[-300:]}")
    found = [
        (Path(entry["file"]).name, entry["range"]["start"]["line"] + 1, entry["message"])
        for entry in json.loads(run.stdout)["generalDiagnostics"]
        if entry["severity"] == "error"
    ]
    assert [entry for entry in found if entry[0] == "good.py"] == []
    assert {line for _, line, _ in found} == marked("bad.py"), found
