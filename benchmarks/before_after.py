"""Two versions of gradiva, in turns on the same cores: has a change made anything slower?

What is measured: the recipes, loops, and what `readings.py` reads.

`python benchmarks/before_after.py FOLDER`: FOLDER holds another checkout. Each version runs in a
process of its own, which waits while the other one works.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from photographs import make_data
from programs import PIPELINES, val
from readings import make, programs
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn, types

AHEAD = 2
LOOPS: dict[str, dict[str, bool]] = {
    "val, step by step": {},
    "val, captured loop": {"capture": True},
}


def epochs(folder: str, options: Any) -> dict[str, tuple[Callable[[], Iterator[int]], int]]:
    """By name, what runs an epoch, and the batches that are ready before the clock starts."""
    gradiva.set_num_threads(options.threads)
    found: dict[str, tuple[Callable[[], Iterator[int]], int]] = {}

    def pipeline(recipe: Any) -> Callable[[], Iterator[int]]:
        @gradiva.pipeline_def(
            batch_size=options.batch_size,
            num_threads=options.threads,
            seed=1,
            prefetch_queue_depth=AHEAD,
        )
        def define() -> Any:
            files, labels = fn.readers.file(file_root=folder)
            return recipe(fn, types, files), labels

        pipe = define()
        pipe.build()

        def run() -> Iterator[int]:
            for _ in range(AHEAD + options.images // options.batch_size):
                pipe.run()
                yield options.batch_size

        return run

    def loop(capture: dict[str, bool]) -> Callable[[], Iterator[int]]:
        reader: Any = gradiva.readers.File(file_root=folder)

        def run() -> Iterator[int]:
            for files, _ in reader.next_epoch(batch_size=options.batch_size, **capture):
                yield val(gradiva, types, files).evaluate().batch_size

        return run

    for name, recipe in PIPELINES.items():
        found[name] = pipeline(recipe), AHEAD
    for name, capture in LOOPS.items():
        found[name] = loop(capture), 0
    for name, program in programs(Path(folder).parent / "readings", options).items():
        found[name] = program, 0
    return found


def work(folder: str, options: Any) -> None:
    """Run the epochs that are named on the standard input, and print images per second."""
    known = epochs(folder, options)
    for line in sys.stdin:
        run, ahead = known[line.strip()]
        time.sleep(0.5)  # pipelines make what they prefetch
        counts = run()
        for _ in range(ahead):
            next(counts)
        started = time.perf_counter()
        print(sum(counts) / (time.perf_counter() - started), flush=True)


class Version:
    """A process that works with one checkout."""

    def __init__(self, checkout: Path, folder: str, words: list[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(checkout), "--work", folder, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def rate(self, name: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options)
        return
    rows: list[Row] = []
    words = [
        f"--{name}={getattr(options, name.replace('-', '_'))}" for name in ("images", "threads")
    ]
    words.append(f"--batch-size={options.batch_size}")
    with tempfile.TemporaryDirectory() as whole:
        folder, readings = Path(whole) / "images", Path(whole) / "readings"
        for place in (folder, readings):
            place.mkdir()
        make_data(folder, options.images)
        make(readings)
        names = [*PIPELINES, *LOOPS, *programs(readings, options)]
        here = Version(Path(__file__).parents[1], str(folder), words)
        there = Version(options.checkout.resolve(), str(folder), words)
        for name in filter(lambda name: options.only in name, names):
            for version in (here, there):
                version.rate(name)
            rivals = partial(here.rate, name), partial(there.rate, name)
            ours, theirs = in_turns(*rivals, options.rounds)
            rows.append(row(name, ours, theirs, "a second", bigger=True))
        here.close()
        there.close()
    head = ["git", "-C", str(options.checkout), "rev-parse", "--short", "HEAD"]
    before = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip()
    save("before_after", rows, theirs=before)
    print(json.dumps({found["name"]: found["ratio"] for found in rows}, indent=1))


if __name__ == "__main__":
    main()
