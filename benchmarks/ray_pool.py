"""Batches from loaders of a Ray pool on this machine, against the pipeline in this process, on as
many cores. What is timed is a number of batches, taken as fast as they come, after so many that all
memory they lie in was once touched. It is that of the loaders; with `--store` Ray's store of
objects, as between machines.

Ours alone: what it costs to have batches made elsewhere. By default loaders share their cores with
the trainer and with Ray's own processes. With `--apart` they keep to the first cores of the
machine, as the pipeline does when it is its turn, and all else runs on the others: as where the
trainer has cores of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from photographs import make_data
from programs import train
from side_by_side import Row, in_turns, row, save, versions

import gradiva
from gradiva import fn, types
from gradiva.plugin.ray import LoaderPool

NAMES = ("images", "labels")
STORE = 1 << 30
"""Bytes of Ray's store of objects."""


def keep_to(cores: set[int]) -> None:
    """Run this process on these cores."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def on(cores: set[int] | None, take: Callable[[], Any]) -> Callable[[], Any]:
    """The same, and the threads that it starts, on these cores; None for any."""

    def there() -> Any:
        if cores is not None:
            os.sched_setaffinity(0, cores)
        return take()

    return there


def maker(
    folder: str, batch_size: int, threads: int, normalized: bool, own: set[int] | None = None
) -> Any:
    """What makes the pipeline of the training recipe; its images are uint8, or normalized. own: the
    cores to which a loader keeps."""

    @gradiva.pipeline_def(batch_size=batch_size, num_threads=threads, seed=1)
    def pipe() -> Any:
        files, labels = fn.readers.file(file_root=folder, random_shuffle=True)
        if normalized:
            return train(fn, types, files), labels
        images = fn.decoders.image_random_crop(files)
        return fn.resize(images, size=(224, 224)), labels

    def made() -> Any:
        if own is not None and ray.get_runtime_context().get_actor_id() is not None:
            keep_to(own)
        return pipe()

    return made


def rate(take: Callable[[], Any], batches: int, batch_size: int) -> float:
    """Images per second, after those that were made meanwhile, and a pause in which the rival made
    the last of its own."""
    time.sleep(1)
    for _ in range(8):
        take()
    started = time.perf_counter()
    for _ in range(batches):
        take()
    return batches * batch_size / (time.perf_counter() - started)


def endless(part: Any) -> Callable[[], Any]:
    """Batches of one epoch after the other."""

    def take() -> Any:
        try:
            return next(part)
        except StopIteration:
            return next(iter(part))

    return take


def measure(name: str, made: Any, loaders: int, trainer_fn: Any, options: Any) -> Row:
    """The pool and the pipeline in turns, after some batches of each that are not counted."""
    size, pipe = options.batch_size, made()
    cores = options.cores // loaders
    own, others = (options.own, options.others) if options.apart else (None, None)
    here = on(own, pipe.run)
    with LoaderPool(
        made,
        num_loaders=loaders,
        cpus_per_loader=cores,
        trainer_fn=trainer_fn,
        share_memory=not options.store,
    ) as pool:
        there = on(others, endless(pool.iterator(0, 1, NAMES)))
        rate(here, 3, size)
        filled = 0
        while filled < 1.5 * STORE:
            filled += sum(value.nbytes for value in there().values())
        ours, theirs = in_turns(
            lambda: rate(there, options.batches, size),
            lambda: rate(here, options.batches, size),
            options.rounds,
        )
    pipe.close()
    return row(name, ours, theirs, "images/s", bigger=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--apart", action="store_true", help="see above")
    parser.add_argument("--store", action="store_true", help="see above")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    options.own, options.others = set(cores[: options.cores]), set(cores[options.cores :])
    if options.apart:
        if not options.others:
            parser.error(f"--apart: --cores of at most {len(cores) - 1}, to leave one for the rest")
        keep_to(options.others)  # so do the processes that are started
    rows: list[Row] = []
    seen: set[tuple[Any, ...]] = set()
    os.environ.setdefault("RAY_worker_niceness", "0")  # both sides have the same rights
    ray.init(
        num_cpus=options.cores + 2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=STORE,
    )
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        for name, normalized, loaders, trainer_fn in (
            ("uint8, one loader", False, 1, None),
            ("uint8, a loader for each core", False, options.cores, None),
            ("normalized by the loader", True, 1, None),
            ('normalized by the trainer, "auto"', True, 1, "auto"),
        ):
            if (normalized, loaders, trainer_fn) in seen:
                continue  # one core: a loader for each is one loader
            seen.add((normalized, loaders, trainer_fn))
            own = options.own if options.apart else None
            made = maker(folder, options.batch_size, options.cores, normalized, own)
            rows.append(measure(name, made, loaders, trainer_fn, options))
    ray.shutdown()
    name = "ray_pool" + "_apart" * options.apart + "_store" * options.store
    save(name, rows, ray=versions("ray"), ours="the pool", theirs="the pipeline in process")


if __name__ == "__main__":
    main()
