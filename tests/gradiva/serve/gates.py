"""Functions of batches that a test opens and closes, and a clock that it sets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradiva.eager.values.batch import Batch
from gradiva.serve import Batcher

__all__ = ["PATIENCE", "Clock", "Gate", "busy"]

PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""


class Gate:
    """A function that returns its batch, or what `then` returns, once the gate is open.

    sizes: of the batches so far.
    """

    def __init__(self, opened: bool = False, then: Callable[..., Any] | None = None) -> None:
        self.then = then
        self.sizes: list[int] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        if opened:
            self.open.set()

    def __call__(self, batch: Batch, *others: Batch) -> Any:
        self.sizes.append(len(batch))
        self.entered.release()
        assert self.open.wait(PATIENCE)
        return batch if self.then is None else self.then(batch, *others)

    def wait(self) -> None:
        """Wait until the function was called once more."""
        assert self.entered.acquire(timeout=PATIENCE)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def busy(
    then: Callable[..., Any] | None = None, **options: Any
) -> Iterator[tuple[Batcher, Gate, Any]]:
    """A batcher, its function, and the future of a request that runs until the gate opens."""
    gate = Gate(then=then)
    with Batcher(gate, **options) as batcher:
        first = batcher.submit(0)
        gate.wait()
        try:
            yield batcher, gate, first
        finally:
            gate.open.set()
