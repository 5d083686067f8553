"""GRADIVA_POISON=1: outputs that were released show it, in each way to run a pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=2, num_threads=1)
def pipe():
    rows = fn.external_source(lambda: np.full((2, 3), 7, np.uint8))
    return rows, rows + 1.0

def held(outputs):
    return [np.asarray(output) for output in outputs]

basic = pipe()
first = held(basic.run())
print(first[0][0, 0], first[1][0, 0], end=" ")
basic.run()
print(first[0][0, 0], first[1][0, 0], end=" ")

scheduled = pipe()
scheduled.schedule_run()
scheduled.schedule_run()
one, two = held(scheduled.share_outputs()), held(scheduled.share_outputs())
scheduled.release_outputs()
print(one[0][0, 0], one[1][0, 0], two[0][0, 0], end=" ")
scheduled.schedule_run()
scheduled.outputs()
print(two[0][0, 0])
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("setting", "seen"), [("0", "7 8.0 7 8.0 7 8.0 7 7"), ("1", "7 8.0 255 nan 255 nan 7 255")]
)
def test_released_outputs(setting: str, seen: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "GRADIVA_POISON": setting, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == seen.split()
