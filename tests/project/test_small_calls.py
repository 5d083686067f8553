"""How much Python a call of dynamic mode takes beside its kernel: the functions of gradiva that are
called, and the files that they are in, for four small images. NumPy's functions and compiled
kernels are not counted."""

from __future__ import annotations

import functools
import json
import subprocess
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
    "resize": (lambda x: gradiva.resize(x, size=(32, 32)), 73, 18),
    "crop": (lambda x: gradiva.crop(x, crop=(32, 32)), 81, 17),
    "flip": (gradiva.flip, 63, 12),
    "cast": (lambda x: gradiva.cast(x, dtype=np.float32), 78, 18),
    "brightness_contrast": (
        lambda x: gradiva.brightness_contrast(x, brightness=1.2, contrast=0.8),
        87,
        20,
    ),
    "crop_mirror_normalize": (
        lambda x: gradiva.crop_mirror_normalize(x, crop=(32, 32), mean=[1, 2, 3], std=[3, 4, 5]),
        118,
        17,
    ),
}
"""By operator: the call, and the most that was measured: functions called, and files."""


def files_called(function: Callable[[], object]) -> list[str]:
    """The file of each function of gradiva's that a warm call of `function` calls.

    That is the shortest of five calls: where the first samples take long, since the processor does
    something else, a call asks other threads to help, and that takes 40 functions more.
    """

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        # Compiled kernels have no caller.
        if event == "call" and frame.f_back is not None and Path(name).is_relative_to(ROOT):
            found.append(name)

    for _ in range(3):
        function()
    calls: list[list[str]] = []
    found: list[str] = []
    before = sys.getprofile()
    for _ in range(5):
        found = []
        sys.setprofile(note)
        try:
            function()
        finally:
            sys.setprofile(before)
        calls.append(found)
    return min(calls, key=len)


def counts() -> dict[str, tuple[int, int]]:
    """By operator and whether images differ in size: functions called, and files."""
    found = {}
    for operator, (call, _, _) in CALLS.items():
        for ragged in (0, 1):
            images = [np.full((48 + ragged * i, 64, 3), i, np.uint8) for i in range(4)]
            batch = gradiva.batch(images, layout="HWC")
            called = files_called(functools.partial(call, batch))
            found[f"{operator} {ragged}"] = len(called), len(set(called))
    return found


@pytest.fixture(scope="module")
def counted() -> Any:
    """`counts()` of a new process, for other tests leave settings behind that cost calls."""
    program = f"import json; from {__name__} import counts; print(json.dumps(counts()))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("operator", CALLS)
@pytest.mark.parametrize("ragged", [0, 1])
def test_calls_and_files(counted: Any, operator: str, ragged: int) -> None:
    _, calls, files = CALLS[operator]
    called, places = counted[f"{operator} {ragged}"]
    assert called <= 1.1 * calls
    assert places <= files + 1
