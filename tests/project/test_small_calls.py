"""How much Python a call of dynamic mode takes beside its kernel: the functions of gradiva that are
called, and the files that they are in, for four small images. NumPy's functions and compiled
kernels are not counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gradiva

pytestmark = pytest.mark.core

ROOT = Path(gradiva.__file__).parent

CALLS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "resize": (lambda x: gradiva.resize(x, size=(32, 32)), 70, 18),
    "crop": (lambda x: gradiva.crop(x, crop=(32, 32)), 78, 17),
    "flip": (gradiva.flip, 58, 12),
    "cast": (lambda x: gradiva.cast(x, dtype=np.float32), 71, 18),
    "brightness_contrast": (
        lambda x: gradiva.brightness_contrast(x, brightness=1.2, contrast=0.8),
        79,
        19,
    ),
    "crop_mirror_normalize": (
        lambda x: gradiva.crop_mirror_normalize(x, crop=(32, 32), mean=[1, 2, 3], std=[3, 4, 5]),
        115,
        17,
    ),
}
"""By operator: the call, and what was measured: functions called, and files."""


def files_called(function: Callable[[], object]) -> list[str]:
    """The file of each function of gradiva's that a warm call of `function` calls."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        # Compiled kernels have no caller.
        if event == "call" and frame.f_back is not None and Path(name).is_relative_to(ROOT):
            found.append(name)

    for _ in range(3):
        function()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("operator", CALLS)
@pytest.mark.parametrize("ragged", [0, 1])
def test_calls_and_files(operator: str, ragged: int) -> None:
    call, calls, files = CALLS[operator]
    images = [np.full((48 + ragged * i, 64, 3), i, np.uint8) for i in range(4)]
    batch = gradiva.batch(images, layout="HWC")
    found = files_called(lambda: call(batch))
    assert len(found) <= 1.1 * calls
    assert len(set(found)) <= files + 1
