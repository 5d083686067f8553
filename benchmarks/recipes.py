"""Recipes on photographs, ours against DALI's, on the same cores in one run.

Pipelines, and one recipe in dynamic mode: called step by step, and as a captured loop. Every rival
makes whole epochs of its own; what is timed is the epoch, after one that warms it up. A captured
loop is timed twice, since nothing overlaps with the first step of an epoch: in epochs of these
images, and in epochs four times as long, in which each image comes four times.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nvidia.dali.experimental.dynamic as dali_dynamic
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from photographs import make_data
from programs import PIPELINES, val
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn, types

AHEAD = 2


def pipelines(recipe: Any, folder: str, options: Any) -> tuple[Any, Any]:
    """Functions that run an epoch of the recipe as a pipeline of each library."""
    common = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": 1,
        "prefetch_queue_depth": AHEAD,
    }

    @gradiva.pipeline_def(**common)
    def mine() -> Any:
        files, labels = fn.readers.file(file_root=folder)
        return recipe(fn, types, files), labels

    @dali_pipeline_def(device_id=None, **common)
    def other() -> Any:
        files, labels = dali_fn.readers.file(file_root=folder)
        return recipe(dali_fn, dali_types, files), labels

    def epoch(pipe: Any) -> Callable[[], Iterator[int]]:
        pipe.build()
        batches = options.images // options.batch_size

        def run() -> Iterator[int]:
            for _ in range(AHEAD + batches):
                pipe.run()
                yield options.batch_size

        return run

    return epoch(mine()), epoch(other())


def loops(folder: str, options: Any, times: int = 1, **capture: bool) -> tuple[Any, Any]:
    """Functions that run an epoch of val in the dynamic mode of each library. times: how often an
    epoch has each image."""
    gradiva.set_num_threads(options.threads)
    dali_dynamic.set_num_threads(options.threads)
    files = [str(path) for path in sorted(Path(folder).rglob("*.jpg"))] * times
    rivals = (gradiva, types), (dali_dynamic, dali_types)

    def epoch(library: Any, kinds: Any) -> Callable[[], Iterator[int]]:
        reader = library.readers.File(files=files)

        def run() -> Iterator[int]:
            for images, _ in reader.next_epoch(batch_size=options.batch_size, **capture):
                yield val(library, kinds, images).evaluate().batch_size

        return run

    mine, other = (epoch(*rival) for rival in rivals)
    return mine, other


def measure(name: str, rivals: tuple[Any, Any], rounds: int, ahead: int) -> Row:
    """Both in turns, after an epoch of each that is not counted.

    The clock starts after `ahead` batches: a pipeline had those ready. The pause lets it make the
    next ones, which shall not happen in the rival's time. A loop is timed from its first step.
    """

    def rate(run: Callable[[], Iterator[int]]) -> float:
        time.sleep(1)
        counts = run()
        for _ in range(ahead):
            next(counts)
        started = time.perf_counter()
        return sum(counts) / (time.perf_counter() - started)

    for run in rivals:
        rate(run)
    ours, theirs = in_turns(lambda: rate(rivals[0]), lambda: rate(rivals[1]), rounds)
    return row(name, ours, theirs, "images/s", bigger=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        for name, recipe in PIPELINES.items():
            if options.only in name:
                rivals = pipelines(recipe, folder, options)
                rows.append(measure(name, rivals, options.rounds, AHEAD))
        dynamic: dict[str, dict[str, Any]] = {
            "val, step by step": {},
            "val, captured loop": {"capture": True},
            "val, captured loop, longer epochs": {"capture": True, "times": 4},
        }
        for name, how in dynamic.items():
            if options.only in name:
                rows.append(measure(name, loops(folder, options, **how), options.rounds, 0))
    if options.only:
        return
    rates = {found["name"]: found["ours"] for found in rows}
    share = rates["val: resize 256, crop 224, normalize"] / rates["decode"]
    print(f"val runs at {share:.2f} of our own decoding")
    save("recipes", rows)


if __name__ == "__main__":
    main()
