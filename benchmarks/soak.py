"""Whether memory, descriptors and threads stay flat: many epochs, and many pipelines.

    python benchmarks/soak.py [--epochs 100] [--cycles 300]
    python benchmarks/soak.py --promises build/promises.json

The first part runs one pipeline over the photographs of the package, epoch after epoch. The second
builds a pipeline, takes a few batches and closes it, again and again. Both print JSON, which is
saved as `results/soak.json`: at intervals, the resident memory in MiB, the memory in use and
waiting in the pool, open descriptors, and threads.

`--promises` measures nothing: it puts the figures that `pytest -m soak` has written among the
results.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from side_by_side import RESULTS, processor

import gradiva
from gradiva import backend, fn
from gradiva.eager.runtime.finalizer_thread import finalizer_thread

PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"
POINTS = 20
"""Rows that each part prints."""


def resident_mebibytes() -> float:
    """Memory of this process now; where the system does not tell, the most that it ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1 << 20) if sys.platform == "darwin" else most / (1 << 10)
    return pages * resource.getpagesize() / (1 << 20)


def descriptors() -> int | None:
    """Open files, sockets and pipes of this process; None where the system does not tell."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        if os.path.isdir(folder):
            return len(os.listdir(folder))
    return None


def measured(turn: int) -> dict[str, Any]:
    """A row of the table."""
    gc.collect()
    closed = threading.Event()  # what was dropped is closed by a thread of its own
    finalizer_thread.post(closed.set)
    closed.wait(60)
    stats = backend.memory_stats()
    return {
        "turn": turn,
        "resident_mib": round(resident_mebibytes(), 1),
        "leased_bytes": stats.leased,
        "kept_bytes": stats.kept,
        "descriptors": descriptors(),
        "threads": threading.active_count(),
    }


def pipeline(batch_size: int = 4, shuffle: bool = True) -> gradiva.Pipeline:
    """Decode, resize, mirror at random, crop and normalize."""
    pipe = gradiva.Pipeline(batch_size=batch_size, num_threads=2, enable_memory_stats=True, seed=1)
    with pipe:
        files, labels = fn.readers.file(file_root=str(PHOTOGRAPHS), random_shuffle=shuffle)
        images = fn.resize(fn.decoders.image(files), resize_shorter=128)
        mirror = fn.random.coin_flip()
        pipe.set_outputs(fn.crop_mirror_normalize(images, crop=(112, 112), mirror=mirror), labels)
    return pipe


def epochs(count: int) -> Iterator[None]:
    """One pipeline, a turn per epoch."""
    pipe = pipeline()
    samples = sum(pipe.epoch_size().values())
    for _ in range(count):
        for _ in range(-(-samples // 4)):
            pipe.run()
        yield
    pipe.close()


def cycles(count: int) -> Iterator[None]:
    """A new pipeline per turn; each third is dropped without being closed."""
    for number in range(count):
        pipe = pipeline(shuffle=number % 2 == 0)
        pipe.run()
        pipe.executor_statistics()
        if number % 3:
            pipe.close()
        del pipe
        yield


def watch(turns: Callable[[int], Iterator[None]], count: int) -> list[dict[str, Any]]:
    """Rows measured while `turns` go on: after the first, and at equal intervals."""
    step = max(1, count // POINTS)
    rows = []
    for number, _ in enumerate(turns(count), 1):
        if number == 1 or number % step == 0:
            rows.append(measured(number))
    rows.append(measured(count))
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--epochs", type=int, default=100)
    options.add_argument("--cycles", type=int, default=300)
    options.add_argument("--promises", type=Path, metavar="FILE")
    options.add_argument("--save", action=argparse.BooleanOptionalAction, default=True)
    given = options.parse_args()
    saved = RESULTS / "soak.json"
    before = json.loads(saved.read_text("utf-8")) if saved.exists() else {}
    if given.promises:
        result = {**before, "promises": json.loads(given.promises.read_text("utf-8"))}
        saved.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        return
    result = {
        "machine": f"{processor()}, {os.cpu_count()} CPUs, {platform.system()}",
        "command": " ".join(["python benchmarks/soak.py", *sys.argv[1:]]),
        "epochs": watch(epochs, given.epochs),
        "cycles": watch(cycles, given.cycles),
        **({"promises": before["promises"]} if "promises" in before else {}),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if given.save:
        RESULTS.mkdir(exist_ok=True)
        saved.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
