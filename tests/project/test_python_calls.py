"""How many Python functions run in the user's thread: each costs time at every step."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva

MOST_OF_A_CAPTURED_STEP = 100
"""A step with two calls that are served made 89 on Python 3.11."""


@pytest.mark.skipif(sys.gettrace() is not None, reason="coverage counts, too")
def test_a_captured_step_makes_few_calls(tmp_path: Path) -> None:
    for number in range(24):
        np.save(tmp_path / f"{number}.npy", np.full((24, 24, 3), number, np.uint8))
    reader = gradiva.readers.Numpy(file_root=str(tmp_path), file_filter="*.npy")
    calls = list[str]()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            calls.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")

    counts = list[int]()
    for _ in range(2):
        counts.clear()
        loop = iter(reader.next_epoch(batch_size=4, capture=True))
        for _ in range(6):
            time.sleep(0.02)  # a step that waits makes other calls
            calls.clear()
            before = sys.getprofile()
            sys.setprofile(note)
            try:
                images = next(loop)
                gradiva.flip(gradiva.resize(images, size=(16, 16)), horizontal=1)
            finally:
                sys.setprofile(before)
            counts.append(len(calls))
    assert min(counts) <= MOST_OF_A_CAPTURED_STEP, "\n".join(calls)
