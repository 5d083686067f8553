"""Programs that end in the middle: `python -m tests.promises.exit_programs NAME`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn

__all__ = ["INTERRUPTED", "PROGRAMS"]

PHOTOGRAPHS = str(Path(gradiva.__file__).parent / "photographs")
held: list[Any] = []
_told = threading.Event()


def told() -> None:
    """Say once that it runs."""
    if not _told.is_set():
        _told.set()
        print("running", flush=True)


def pipeline(source: Callable[[Any], Any]) -> gradiva.Pipeline:
    pipe = gradiva.Pipeline(batch_size=2, num_threads=2, prefetch_queue_depth=2)
    with pipe:
        pipe.set_outputs(fn.external_source(source, batch=False) + 1)
    return pipe


def numbers(info: Any) -> Any:
    return np.full(3, info.idx_in_epoch, np.int32)


def left_running() -> None:
    """A pipeline with full queues, and a loop in the middle."""
    held.append(pipeline(numbers))
    held[-1].run()
    reader = gradiva.readers.File(file_root=PHOTOGRAPHS)
    held.append(reader.next_epoch(batch_size=2, capture=True))
    next(held[-1])


def sys_exit() -> None:
    left_running()
    sys.exit(3)


def raises() -> None:
    left_running()
    raise ValueError("of the program")


def in_a_thread() -> None:
    """A daemon that runs a pipeline while the program ends."""
    started = threading.Event()

    def work() -> None:
        pipe = pipeline(numbers)
        while True:
            pipe.run()
            started.set()

    threading.Thread(target=work, daemon=True).start()
    started.wait()


def interrupted() -> None:
    """Runs until it is told to stop."""
    pipe = pipeline(numbers)
    while True:
        pipe.run()
        told()


def interrupted_in_a_loop() -> None:
    # An epoch of some hundred files, as epochs are: the finalizer of a loop, in which Python would
    # drop the interrupt, runs once in each.
    photographs = [str(file) for file in sorted(Path(PHOTOGRAPHS).rglob("*.jpg"))]
    reader = gradiva.readers.File(files=photographs * 50, random_shuffle=True)
    while True:
        for files, _ in reader.next_epoch(batch_size=2, capture=True):
            gradiva.peek_image_shape(files)
            told()


def interrupted_while_it_waits() -> None:
    """For a source that does not come back."""
    never = threading.Event()

    def source(info: Any) -> Any:
        if info.iteration:
            told()
            never.wait()
        return numbers(info)

    pipe = pipeline(source)
    while True:
        pipe.run()


PROGRAMS: dict[str, tuple[Callable[[], None], int]] = {
    "left running": (left_running, 0),
    "sys.exit": (sys_exit, 3),
    "raises": (raises, 1),
    "in a thread": (in_a_thread, 0),
}
"""With their exit statuses."""
INTERRUPTED: dict[str, Callable[[], None]] = {
    "a pipeline": interrupted,
    "a loop": interrupted_in_a_loop,
    "a source": interrupted_while_it_waits,
}

if __name__ == "__main__":
    name = sys.argv[1]
    (INTERRUPTED[name] if name in INTERRUPTED else PROGRAMS[name][0])()
