"""Operators say which other libraries compute their values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.capture.graph.fingerprint import library_versions

OPS = Path(__file__).parent.parent.parent / "ops"
EXACT = {
    # They move bytes, or are compared with another computation in the cases of their operators.
    "decoders/convert.py",
    "decoders/formats/decode_opencv.py",
}
HELPERS = {
    **dict.fromkeys(
        (f"image/albumentations/{name}.py" for name in ("blurs", "colors", "noise", "values")),
        "image/albumentations/pixels.py",
    ),
    **dict.fromkeys(
        (f"image/albumentations/{name}.py" for name in ("moves", "warps")),
        "image/albumentations/geometry.py",
    ),
    "image/filter/correlate.py": "image/filter/filter.py",
    "image/filter/morphology.py": "image/filter/dilate_erode.py",
    "image/resize/libraries.py": "image/resize/compat.py",
}
"""Files that call OpenCV for the operators of another file."""


def test_who_calls_opencv_says_so() -> None:
    calling = [path for path in OPS.rglob("*.py") if re.search(r"\bcv2\.", path.read_text())]
    names = {path.relative_to(OPS).as_posix() for path in calling}
    assert EXACT | HELPERS.keys() <= names
    names -= EXACT
    assert len(names) > 5
    silent = [
        name
        for name in sorted(names)
        if '("opencv-python-headless",)' not in (OPS / HELPERS.get(name, name)).read_text()
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: fn.resize(x, size=(4, 4)), set()),
        (lambda x: fn.resize(x, size=(4, 4), compat="pil"), {"pillow"}),
        (lambda x: fn.resize(x, size=(4, 4), compat="opencv"), {"opencv-python-headless"}),
        (fn.experimental.median_blur, {"opencv-python-headless"}),
        (gradiva.math.exp, set()),
        (lambda x: gradiva.math.exp(fn.cast(x, dtype=types.FLOAT64)), {"numpy"}),
        (lambda x: fn.cast(x, dtype=types.FLOAT64) ** 2.5, {"numpy"}),
        (lambda x: gradiva.math.sqrt(fn.cast(x, dtype=types.FLOAT64)) * 2, set()),
    ],
)
def test_which_libraries(call: Any, expected: set[str]) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        images = fn.external_source(
            lambda: [np.zeros((8, 8, 3), np.uint8)] * 2, layout="HWC", dtype=types.UINT8, ndim=3
        )
        return call(images)

    pipe = pipeline()
    found = library_versions(pipe._recorded())
    assert set(found) == expected
    assert all(re.match(r"\d+\.\d+|absent$", version) for version in found.values())
    pipe.close()
