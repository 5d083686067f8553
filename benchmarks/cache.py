"""Epochs that are read from a cache: against DALI's pipelines, and against ours without a cache.

"second epoch": after one epoch that fills the cache, the epochs of both libraries are timed in
turns. "first epoch": pipelines with an empty folder each time, against pipelines without a cache,
each after the memory that it may need was touched: a virtual machine gets memory that it has given
back page by page from its host, which takes several times as long as the writing itself.
"from a server": second epochs of files behind URLs, on a server of this machine that answers after
50 ms, against second epochs of the same files on the disk. "peak memory": MiB of a process that
runs three epochs, with a cache on disk and without one. Files and cache are in the page cache.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from photographs import make_data
from programs import PIPELINES
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn, types

try:
    from nvidia.dali import fn as dali_fn
    from nvidia.dali import pipeline_def as dali_pipeline_def
    from nvidia.dali import types as dali_types
except ImportError:  # the processes whose memory is measured do not need it
    dali_fn = None

AHEAD = 2
EPOCHS = 4
RECIPES = {
    "val: resize 256, crop 224, normalize": 10.0,
    "train: random crop to 224, mirror, normalize": 4.0,
    "train with color and blur": 4.5,
}
"""With the ratio that is wanted."""


def common(options: Any) -> dict[str, Any]:
    """What both pipelines are given."""
    return {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": 1,
        "prefetch_queue_depth": AHEAD,
    }


def ours(recipe: Any, files: dict[str, Any], options: Any, **cache: Any) -> Any:
    """Our pipeline of a recipe."""

    @gradiva.pipeline_def(**common(options), **cache)
    def made() -> Any:
        encoded, labels = fn.readers.file(**files, random_shuffle=True)
        return recipe(fn, types, encoded), labels

    pipe = made()
    pipe.build()
    return pipe


def theirs(recipe: Any, files: dict[str, Any], options: Any) -> Any:
    """DALI's pipeline of a recipe."""

    @dali_pipeline_def(device_id=None, **common(options))
    def made() -> Any:
        encoded, labels = dali_fn.readers.file(**files, random_shuffle=True)
        return recipe(dali_fn, dali_types, encoded), labels

    pipe = made()
    pipe.build()
    return pipe


def batches_of(options: Any) -> int:
    return -(-options.images // options.batch_size)


def run(pipe: Any, batches: int) -> None:
    for _ in range(batches):
        pipe.run()


def rate(pipe: Any, options: Any) -> float:
    """Images a second in some epochs, whose first batches were made before."""
    time.sleep(0.5)
    run(pipe, AHEAD)
    batches = EPOCHS * batches_of(options)
    began = time.perf_counter()
    run(pipe, batches)
    return batches * options.batch_size / (time.perf_counter() - began)


def second_epochs(folder: str, kept: str, options: Any) -> list[Row]:
    rows = []
    for name, wanted in RECIPES.items():
        recipe = PIPELINES[name]
        for where in ("ram", kept):
            mine = ours(recipe, {"file_root": folder}, options, cache=where)
            other = theirs(recipe, {"file_root": folder}, options)
            run(mine, 2 * batches_of(options) + AHEAD)
            run(other, batches_of(options))
            sides = partial(rate, mine, options), partial(rate, other, options)
            found = in_turns(*sides, options.rounds)
            place = "in memory" if where == "ram" else "on disk"
            rows.append(row(f"second epoch, {place}: {name}", *found, "images/s", bigger=True))
            rows[-1] |= {"wanted": wanted, "cache": mine.stats()["caches"]}
            print(mine.explain())
            mine.close()
    return rows


def first_epochs(folder: str, scratch: Path, options: Any) -> list[Row]:
    numbers = itertools.count()

    def first(recipe: Any, kept: bool) -> float:
        where = scratch / str(next(numbers))
        cache = {"cache": str(where)} if kept else {}
        # The place of the cache is chosen, and kernels are loaded, before the clock starts.
        pipe = ours(recipe, {"file_root": folder}, options, **cache)
        time.sleep(0.5)
        batches = batches_of(options)
        np.ones(options.images << 20, np.uint8)  # more than the images take
        began = time.perf_counter()
        run(pipe, batches)
        found = batches * options.batch_size / (time.perf_counter() - began)
        pipe.close()
        shutil.rmtree(where, ignore_errors=True)
        return found

    rows = []
    for name in RECIPES:
        recipe = PIPELINES[name]
        sides = partial(first, recipe, True), partial(first, recipe, False)
        for side in sides:
            side()
        found = in_turns(*sides, options.rounds)
        rows.append(row(f"first epoch, with and without: {name}", *found, "images/s", bigger=True))
    return rows


def from_server(folder: str, kept: str, options: Any) -> list[Row]:
    """Second epochs of files behind URLs, and of files here."""
    script = Path(__file__).with_name("slow_server.py")
    server = subprocess.Popen(
        [sys.executable, str(script), folder, "0.05"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        names = [str(path.relative_to(folder)) for path in sorted(Path(folder).rglob("*.jpg"))]
        far = {"files": [f"http://127.0.0.1:{port}/{name}" for name in names]}
        near = {"files": [f"{folder}/{name}" for name in names]}
        name = "val: resize 256, crop 224, normalize"
        pipes = [ours(PIPELINES[name], files, options, cache=kept) for files in (far, near)]
        for pipe in pipes:
            run(pipe, 2 * batches_of(options) + AHEAD)
        found = in_turns(*(partial(rate, pipe, options) for pipe in pipes), options.rounds)
        rows = [row("second epoch, server and disk: val", *found, "images/s", bigger=True)]
        for pipe in pipes:
            pipe.close()
        return rows
    finally:
        server.kill()
        server.wait()


MEMORY = """
import sys
sys.path.insert(0, {here!r})
from types import SimpleNamespace
import cache
options = SimpleNamespace(batch_size={batch_size}, threads={threads}, images={images})
pipe = cache.ours(cache.PIPELINES[{name!r}], {{"file_root": {folder!r}}}, options, **{given!r})
cache.run(pipe, 3 * cache.batches_of(options))
status = open("/proc/self/status").read()  # what `resource` says begins with the parent
print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
"""


def peak_memory(folder: str, scratch: Path, options: Any) -> list[Row]:
    """MiB with a cache on disk, and without."""

    def peak(name: str, given: dict[str, Any]) -> float:
        facts = vars(options) | {"name": name, "folder": folder, "given": given}
        code = MEMORY.format(here=str(Path(__file__).parent), **facts)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return float(done.stdout.split()[-1])

    rows = []
    for name in RECIPES:
        where = {"cache": str(scratch / "memory")}
        sides = partial(peak, name, where), partial(peak, name, {})
        rows.append(row(f"peak memory: {name}", *in_turns(*sides, 3), "MiB", bigger=False))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="second, first, server or memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, kept = Path(scratch) / "photos", str(Path(scratch) / "kept")
        folder.mkdir()
        make_data(folder, options.images)
        rows: list[Row] = []
        if options.only in ("", "second"):
            rows += second_epochs(str(folder), kept, options)
        if options.only in ("", "first"):
            rows += first_epochs(str(folder), Path(scratch), options)
        if options.only in ("", "server"):
            rows += from_server(str(folder), kept, options)
        if options.only in ("", "memory"):
            rows += peak_memory(str(folder), Path(scratch), options)
    if not options.only:
        save("cache", rows)


if __name__ == "__main__":
    main()
