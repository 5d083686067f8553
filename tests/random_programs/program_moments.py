"""Moments at which objects go: dropped, kept in cycles, collected, in any thread.

A random program that has such moments gives the same bits as one that has none.
"""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import gradiva
from gradiva import fn

__all__ = ["Moments"]


def _images() -> list[np.ndarray[Any, Any]]:
    return [np.full((3, 4, 1), k, np.uint8) for k in range(4)]


def _loop_that_is_left() -> Any:
    source = gradiva.ExternalSource(iter([_images() for _ in range(6)]), layout="HWC")
    loop = source.captured(4)
    for _ in range(3):
        made = gradiva.flip(next(loop)) + gradiva.random.uniform(batch_size=4)
    return loop, made


def _epoch_that_is_left() -> Any:
    source = gradiva.ExternalSource(iter([_images()]), layout="HWC")
    return source, source()


def _pipeline() -> Any:
    pipe = gradiva.Pipeline(batch_size=4, num_threads=2, prefetch_queue_depth=2)
    with pipe:
        given = fn.external_source(source=_images, layout="HWC")
        pipe.set_outputs(fn.flip(given) * fn.random.uniform(range=(0.0, 2.0)))
    return pipe, pipe.run()


def _pending_calls() -> Any:
    with gradiva.EvalMode.deferred:
        return gradiva.flip(gradiva.as_batch(np.ones((2, 3, 4, 1), np.uint8), layout="HWC")) + 1


def _context() -> Any:
    context = gradiva.EvalContext(num_threads=2)
    with context:
        made = gradiva.as_batch(np.ones((2, 30, 40, 1), np.uint8), layout="HWC") * 2.5
    return context, made


_MAKERS = (_loop_that_is_left, _epoch_that_is_left, _pipeline, _pending_calls, _context)


class Moments:
    """Draws what happens between two calls of a program, mostly nothing.

    seed: of the drawing; share: of the moments at which something happens.
    """

    def __init__(self, seed: int, share: float = 0.12) -> None:
        self._random = random.Random(seed)
        self._share = share
        self._kept: list[Any] = []
        self._threads: list[threading.Thread] = []
        self.happened = 0

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def happen(self, *values: Any) -> None:
        """One moment. values: what is there, of which some may be kept for a while."""
        if not self.chance(self._share):
            return
        self.happened += 1
        choice = self._random.randrange(6)
        if choice == 0:
            self._kept.append(list(values))
        elif choice == 1:
            self._elsewhere(self._make, self._random.choice(_MAKERS))
        elif choice == 2:
            self._elsewhere(gc.collect)
        elif choice == 3:
            gc.collect()
        elif self._kept:
            place = self._random.randrange(len(self._kept))
            one = [self._kept.pop(place)]
            if choice == 4:
                self.leave(*one)
            else:
                self._elsewhere(one.clear)

    def leave(self, *things: Any) -> None:
        """Things that the program has no use for any more: they go at once, later, in another
        thread, or when the collector comes."""
        for thing in things:
            choice = self._random.randrange(4)
            if choice == 0:
                cycle = [thing]
                cycle.append(cycle)
            elif choice == 1:
                self._kept.append(thing)
            elif choice == 2:
                self._elsewhere([thing].clear)

    def _make(self, maker: Callable[[], Any]) -> None:
        self._kept.append(maker())

    def _elsewhere(self, work: Callable[..., object], *arguments: Any) -> None:
        """In a thread that nobody waits for, until the end."""
        thread = threading.Thread(target=work, args=arguments)
        thread.start()
        self._threads.append(thread)

    def end(self) -> None:
        """What is still kept goes."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread in which objects were dropped hangs"
        self._kept.clear()
