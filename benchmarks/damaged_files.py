"""What 1 % of damaged files cost with `on_error="skip"`: val as a pipeline, in dynamic mode step by
step and as a captured loop, against the same on whole files.

Damaged ones are cut in half, so their headers can be read and their ends cannot: the worst case, in
which most of the work is done before a sample is given up. Ours alone, in turns.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from photographs import make_data
from programs import val
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn, types

AHEAD = 2
SHARE = 100
"""One file of so many is damaged."""


def damaged_copy(whole: Path, folder: Path) -> None:
    """The same files; of each hundred, the one in the middle ends in its middle."""
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    for number, path in enumerate(sorted(folder.rglob("*.jpg"))):
        if number % SHARE == SHARE // 2:
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2])


def pipeline(folder: str, options: Any) -> Callable[[], Iterator[int]]:
    @gradiva.pipeline_def(
        batch_size=options.batch_size, num_threads=options.threads, prefetch_queue_depth=AHEAD
    )
    def definition() -> Any:
        files, labels = fn.readers.file(file_root=folder)
        return val(fn, types, files, on_error="skip"), labels

    pipe = definition()
    pipe.build()

    def run() -> Iterator[int]:
        for _ in range(AHEAD + options.images // options.batch_size):
            pipe.run()
            yield options.batch_size

    return run


def steps(folder: str, options: Any, **capture: bool) -> Callable[[], Iterator[int]]:
    reader = gradiva.readers.File(file_root=folder)

    def run() -> Iterator[int]:
        for files, given in reader.next_epoch(batch_size=options.batch_size, **capture):
            images = val(gradiva, types, files, on_error="skip")
            images, _ = gradiva.align(images, given)
            images.evaluate()
            yield options.batch_size

    return run


def rate(run: Callable[[], Iterator[int]], ahead: int) -> float:
    """Files per second, damaged ones counted; see `measure` in `recipes.py`."""
    time.sleep(1)
    counts = run()
    for _ in range(ahead):
        next(counts)
    started = time.perf_counter()
    return sum(counts) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    gradiva.set_num_threads(options.threads)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as place:
        whole, damaged = Path(place, "whole"), Path(place, "damaged")
        whole.mkdir()
        make_data(whole, options.images)
        damaged_copy(whole, damaged)
        ways: dict[str, tuple[Callable[[str], Any], int]] = {
            "pipeline": (lambda folder: pipeline(folder, options), AHEAD),
            "step by step": (lambda folder: steps(folder, options), 0),
            "captured loop": (lambda folder: steps(folder, options, capture=True), 0),
        }
        for name, (make, ahead) in ways.items():
            one, other = make(str(damaged)), make(str(whole))
            rate(one, ahead), rate(other, ahead)
            rates = in_turns(
                lambda run=one, ahead=ahead: rate(run, ahead),  # type: ignore[misc]
                lambda run=other, ahead=ahead: rate(run, ahead),  # type: ignore[misc]
                options.rounds,
            )
            rows.append(row(f"{name}: damaged / whole", *rates, "files/s", bigger=True))
    save("damaged_files", rows)


if __name__ == "__main__":
    main()
