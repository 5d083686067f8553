"""Steps: a step is one iteration of a loop over a reader or source.

In a step, random calls are numbered from 0, and samples have the positions from the source.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from gradiva.eager.support.validation import integer
from gradiva.eager.types.provenance import Progress


@dataclass(slots=True, eq=False)
class RandomStep:
    """One turn of a loop: the positions of its samples and the calls counted so far.

    leader: the source that opened it, and alone may open the next one in its place; owner: the
    loop over the source; outer: the step it stands in, which is current again when the leader has
    ended; narrowed: what is left of the positions where samples were left out, by their number;
    progress: of the source, for schedules.

    A step is current until its leader opens the next one or ends. Whether somebody still holds the
    loop does not matter: objects go at moments that no program determines.
    """

    positions: np.ndarray[Any, np.dtype[np.int64]]
    leader: object = None
    owner: object = None
    outer: RandomStep | None = None
    calls: dict[Hashable, int] = field(default_factory=dict)
    narrowed: dict[int, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)
    progress: Progress | None = None

    def take(self, generator: Hashable) -> int:
        """The number of the next call that uses `generator` in this step."""
        return self.skip(generator, 1)

    def skip(self, generator: Hashable, count: int) -> int:
        """As `take` for so many calls: the number of the first one."""
        with _counting:  # threads that were started in a copy of the context share the step
            number = self.calls.get(generator, 0)
            self.calls[generator] = number + count
        return number

    def narrow(self, positions: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Only the samples at these positions remain: later random values for as many samples
        belong to them. Without effect for positions of other samples."""
        if len(positions) < len(self.positions) and np.isin(positions, self.positions).all():
            self.narrowed[len(positions)] = positions

    def positions_of(self, count: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The positions of so many samples: all of the step, or those that remain; else None."""
        if len(self.positions) == count:
            return self.positions
        return self.narrowed.get(count)


_counting = threading.RLock()
"""One lock for all steps: it is held for a few instructions only."""


def _after_fork() -> None:
    """In the child: another thread of the parent may have held the lock."""
    global _counting
    _counting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_step: ContextVar[RandomStep | None] = ContextVar("gradiva_step", default=None)

_DEEPEST = 32
"""The most steps that are remembered at once: of further sources whose loops were left, the oldest
are forgotten."""


def current_step() -> RandomStep | None:
    """The current step of this context, or None outside of any loop over a source."""
    return _step.get()


def enter_step(
    leader: object,
    positions: np.ndarray[Any, np.dtype[np.int64]],
    owner: object = None,
    progress: Progress | None = None,
) -> RandomStep:
    """The source `leader` delivers a batch: its step is current from now on.

    If several sources are read in one iteration, the last one leads. So an older loop that was
    never finished does not disturb a loop, and after an inner loop the outer step continues. Steps
    that were opened within the last step of this leader end.
    """
    running = _step.get()
    own, depth, deepest = running, 1, running
    while own is not None and own.leader is not leader:
        depth += 1
        if depth == _DEEPEST:
            deepest = own
        own = own.outer
    if own is None and depth > _DEEPEST:
        assert deepest is not None
        deepest.outer = None
    outer = running if own is None else own.outer
    opened = RandomStep(positions, leader, owner, outer, progress=progress)
    _step.set(opened)
    return opened


def leave_step(leader: object) -> None:
    """The source `leader` has ended: its step ends, and those opened within it."""
    own = _step.get()
    while own is not None and own.leader is not leader:
        own = own.outer
    if own is not None:
        _step.set(own.outer)


def close_step(owner: object) -> None:
    """The loop `owner` was closed: remove its step. Without effect if another loop over its source
    has opened one since."""
    within, own = None, _step.get()
    while own is not None and own.owner is not owner:
        within, own = own, own.outer
    if own is None:
        return
    if within is None:
        _step.set(own.outer)
    else:
        within.outer = own.outer


def leave_loops() -> None:
    """Remove the steps of all loops, up to a step that was opened explicitly."""
    running = _step.get()
    while running is not None and running.leader is not None:
        running = running.outer
    _step.set(running)


def step(
    first_position: SupportsIndex = 0,
    batch_size: SupportsIndex = 1,
    *,
    epoch: SupportsIndex | None = None,
    number: SupportsIndex | None = None,
) -> AbstractContextManager[RandomStep]:
    """Open a step by hand, for samples at `first_position` ... `first_position + batch_size - 1`.

    Random calls in the block are numbered from 0, so the block's values can be computed again.
    epoch, number: those that schedules see: the epoch, by default that of the step around this one,
    and how many steps come before, by default `first_position // batch_size`.

    Raises OperatorTypeError for what is no integer, OperatorValueError for negative ones.

    Example:
        angle = gradiva.schedule({0: 0, 10: 20})
        with gradiva.step(epoch=3):
            image = gradiva.rotate(gradiva.imread("cat.jpg"), angle=angle)  # by 6 degrees
    """
    first = _count(first_position, "first_position")
    size = _count(batch_size, "batch_size")
    turn = first // max(1, size) if number is None else _count(number, "number")
    outer = _step.get()
    around = None if outer is None or outer.progress is None else outer.progress.epoch
    progress = Progress(around if epoch is None else _count(epoch, "epoch"), turn)
    return step_at(np.arange(first, first + size, dtype=np.int64), progress)


@contextmanager
def step_at(
    positions: np.ndarray[Any, np.dtype[np.int64]], progress: Progress | None = None
) -> Iterator[RandomStep]:
    """Open a step by hand, for samples at these positions. progress: what schedules see."""
    opened = RandomStep(positions, outer=_step.get(), progress=progress)
    token = _step.set(opened)
    try:
        yield opened
    finally:
        _step.reset(token)


def _count(value: SupportsIndex, argument: str) -> int:
    return integer(
        value, 0, limits="a number from 0 on", operator="gradiva.step", argument=argument
    )
