"""Scripts of users run by both libraries: with `nvidia.dali` replaced by `gradiva`, nothing else.

Each file in `scripts` is a program with the name FOLDER at hand, a folder of images with a folder
per label. It puts its outputs as NumPy arrays into the list `results`.
"""

from __future__ import annotations

import contextlib
import linecache
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
CLOSE = {"classic": 1.001 / (0.224 * 255), "subclass": 1.0, "legacy_names": 1.0}
"""Resizing is close and not equal: the pixels of these are at most one step of uint8 apart, here as
it leaves the normalization."""


def run(path: Path, folder: Path, library: str) -> list[Any]:
    """What the script leaves in `results`. Its pipelines go with its names."""
    text = path.read_text("utf-8").replace("nvidia.dali", library)
    assert library != "gradiva" or "nvidia" not in text
    name = f"{path.stem} by {library}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"FOLDER": str(folder), "__name__": f"drop_in_{path.stem}"}
    program = compile(text, name, "exec")
    if library == "gradiva":
        exec(program, names)
    else:
        with warnings.catch_warnings(record=True):  # DALI shows them whatever is set
            exec(program, names)
    results = [np.asarray(value) for value in names["results"]]
    for value in names.values():
        if isinstance(value, gradiva.Pipeline):
            value.close()
    with contextlib.suppress(KeyError):
        del linecache.cache[name]
    return results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine small images in two folders: noise, so that every pixel counts, without compression."""
    top = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(3)
    for label, count in (("cats", 4), ("dogs", 5)):
        (top / label).mkdir()
        for number in range(count):
            shape = (40 + 3 * number, 50 - 2 * number, 3)
            picture = generator.integers(0, 256, shape, dtype=np.uint8)
            Image.fromarray(picture).save(top / label / f"{number}.png")
    return top


@pytest.mark.oracle
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("nvidia.dali", exc_type=ImportError)
    if "import torch" in path.read_text("utf-8"):
        pytest.importorskip("torch")
    expected = run(path, folder, "nvidia.dali")
    ours = run(path, folder, "gradiva")
    assert len(ours) == len(expected) > 0
    for index, (one, other) in enumerate(zip(ours, expected, strict=True)):
        where = f"result {index}"
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        if path.stem in CLOSE and one.dtype != np.int32:
            apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
            assert apart.max() <= CLOSE[path.stem], where
        else:
            np.testing.assert_array_equal(one, other, where)


def test_there_are_a_dozen() -> None:
    dynamic = [path for path in SCRIPTS if path.stem.startswith("dynamic_")]
    assert len(dynamic) >= 6
    assert len(SCRIPTS) - len(dynamic) >= 12
    assert set(CLOSE) <= {path.stem for path in SCRIPTS}
