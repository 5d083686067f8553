"""Import time, and what a small eager call costs, ours against DALI's dynamic mode."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import nvidia.dali.experimental.dynamic as ndd
from side_by_side import in_turns, per_call, row, save

import gradiva

ROUNDS = 9
CALLS = 400
DYNAMIC = "import nvidia.dali.experimental.dynamic as lib"
NAMES = "Batch readers.File decoders.image resize crop_mirror_normalize random.uniform flip"
IMPORTS = {
    "import": "",
    "import, and the names of a training": "".join(f"; lib.{name}" for name in NAMES.split()),
}
"""What of gradiva is not asked for is not imported, so the first alone would say little."""


def seconds_of(statement: str) -> float:
    """Seconds of a statement in a fresh interpreter, measured inside it."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    # As on a user's machine: modules are compiled to bytecode once, not at each start.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(run.stdout)


def main() -> None:
    rows = []
    for name, rest in IMPORTS.items():
        mine, other = f"import gradiva as lib{rest}", f"{DYNAMIC}{rest}"
        seconds_of(mine), seconds_of(other)
        ours, theirs = in_turns(
            lambda statement=mine: seconds_of(statement),
            lambda statement=other: seconds_of(statement),
            ROUNDS,
        )
        rows.append(row(name, ours, theirs, "s", bigger=False))

    images = [np.arange(192, dtype=np.uint8).reshape(8, 8, 3)] * 4
    mine = gradiva.as_batch(images, layout="HWC")
    other = ndd.as_batch(images, layout="HWC")
    pairs: dict[str, tuple[Any, Any]] = {
        "flip": (lambda: gradiva.flip(mine), lambda: ndd.flip(other).evaluate()),
        "add 1": (
            lambda: mine + 1,
            lambda: (other + 1).evaluate(),  # noqa: PLW0108
        ),
        "brightness_contrast": (
            lambda: gradiva.brightness_contrast(mine, brightness=1.2),
            lambda: ndd.brightness_contrast(other, brightness=1.2).evaluate(),
        ),
        "random.uniform": (
            lambda: gradiva.random.uniform(batch_size=4),
            lambda: ndd.random.uniform(batch_size=4).evaluate(),
        ),
    }
    for name, (left, right) in pairs.items():
        per_call(left, 50), per_call(right, 50)
        ours, theirs = in_turns(
            lambda call=left: 1e6 * per_call(call, CALLS),
            lambda call=right: 1e6 * per_call(call, CALLS),
            ROUNDS,
        )
        rows.append(row(f"{name}, four 8x8x3 images", ours, theirs, "us", bigger=False))
    save("small_calls", rows)


if __name__ == "__main__":
    main()
