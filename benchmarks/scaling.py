"""Images per second by the number of threads, ours against DALI's, and what limits ours.

Two data sets: JPEGs of 24 x 24 pixels, which cost next to nothing but what every sample costs, and
of 500 x 375. Beside the rates: how long the interpreter is held per image, as `py-spy` sees it
(where it is installed), and the rate that no number of threads can exceed for it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali as dali
import PIL.Image
from programs import decode, train, train_with_color, val
from side_by_side import Row, in_turns, row, save

import gradiva

AHEAD = 2
PER_SECOND = 200

RECIPES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "decode": (decode, ()),
    "val": (val, ("shorter", "side")),
    "train": (train, ("side",)),
    "train with color": (train_with_color, ("side",)),
}
"""With what depends on the size of the images."""

SIZES: dict[str, tuple[int, int, dict[str, int]]] = {
    "24x24": (24, 24, {"shorter": 28, "side": 24}),
    "500x375": (500, 375, {"shorter": 256, "side": 224}),
}


def make_data(folder: Path, width: int, height: int, count: int) -> None:
    """Smooth pictures of one size, in four folders."""
    generator = np.random.default_rng(0)
    for number in range(count):
        coarse = generator.integers(0, 256, (6, 6, 3), np.uint8)
        picture = PIL.Image.fromarray(coarse).resize((width, height), PIL.Image.Resampling.BICUBIC)
        target = folder / str(number % 4) / f"{number:05}.jpg"
        target.parent.mkdir(exist_ok=True)
        picture.save(target, "JPEG", quality=90)


def pipeline(library: Any, recipe: Any, folder: str, threads: int, batch: int, **more: Any) -> Any:
    """The recipe as a pipeline that was built."""

    @library.pipeline_def(
        batch_size=batch, num_threads=threads, seed=1, prefetch_queue_depth=AHEAD, **more
    )
    def program() -> Any:
        files, labels = library.fn.readers.file(file_root=folder)
        return recipe(library.fn, library.types, files), labels

    made = program()
    made.build()
    return made


def rate(pipe: Any, batch: int, count: int) -> float:
    """Images per second, after the batches that were ready."""
    for _ in range(AHEAD):
        pipe.run()
    started = time.perf_counter()
    for _ in range(max(count // batch, 1)):
        pipe.run()
    return max(count // batch, 1) * batch / (time.perf_counter() - started)


def seen(pipe: Any, batch: int, seconds: int, *options: str) -> tuple[int, float]:
    """How often `py-spy` sees a thread at work while the pipeline runs, and microseconds of
    CPU time per image."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "stacks"
        asked = ["-f", "raw", "-r", str(PER_SECOND), "-d", str(seconds), "-o", str(found)]
        command = ["py-spy", "record", *asked, *options, "--pid", str(os.getpid())]
        made, started = 0, time.process_time()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None:
                pipe.run()
                made += batch
        passed = time.process_time() - started
        stacks = found.read_text().splitlines() if found.exists() else []
    return sum(int(line.rsplit(" ", 1)[1]) for line in stacks), passed / made * 1e6


def held(pipe: Any, batch: int, seconds: int) -> float | None:
    """Microseconds for which the interpreter is held per image: the share of the threads that hold
    it among those at work, of their CPU time. None without `py-spy`."""
    if shutil.which("py-spy") is None or seconds <= 0:
        return None
    holding, _ = seen(pipe, batch, seconds, "--gil")
    working, taken = seen(pipe, batch, seconds)
    return min(holding / working, 1.0) * taken if holding and working else None


def measure(name: str, recipe: Any, folder: str, threads: int, options: Any) -> Row:
    """Both libraries in turns."""
    batch = options.batch_size
    mine = pipeline(gradiva, recipe, folder, threads, batch)
    other = pipeline(dali, recipe, folder, threads, batch, device_id=None)
    for pipe in (mine, other):
        rate(pipe, batch, options.images)
    ours, theirs = in_turns(
        lambda: rate(mine, batch, options.images),
        lambda: rate(other, batch, options.images),
        options.rounds,
    )
    found = row(f"{name}, {threads} threads", ours, theirs, "images/s", bigger=True)
    taken = held(mine, batch, options.seconds)
    found["threads"] = threads
    found["interpreter_held_us"] = None if taken is None else round(taken, 2)
    found["ceiling"] = None if not taken else round(1e6 / taken)
    if taken:
        print(f"{'':44} held {taken:.1f} us per image: at most {1e6 / taken:.0f} images/s")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000, help="per round")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="for py-spy; 0 to leave it out")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    rows: list[Row] = []
    for size, (width, height, numbers) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            make_data(Path(folder), width, height, options.files)
            for name, (program, wanted) in RECIPES.items():
                given = {key: numbers[key] for key in wanted}

                def recipe(
                    f: Any, t: Any, files: Any, program: Any = program, given: Any = given
                ) -> Any:
                    return program(f, t, files, **given)

                for threads in sorted({min(count, cores) for count in options.threads}):
                    if options.only in f"{name}, {size}":
                        label = f"{name}, {size}"
                        rows.append(measure(label, recipe, folder, threads, options))
    if not options.only:
        save("scaling", rows, cores=cores)


if __name__ == "__main__":
    main()
