"""Ranges of samples that threads share in compiled code: each thread enters it once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.tracing import batch_of_thread
from gradiva.eager.types.arrays import BoolVector, I64Table, I64Vector, Int64Array

from .background_kernel import BackgroundKernel
from .jit import jit
from .packed_calls import PackedCall, call_packed, take_next

FEW: Final = 2
"""Ranges that take less Python by themselves than it takes to prepare that they are shared."""

_background = BackgroundKernel()


def can_share() -> bool:
    """Whether `parallel_for` is compiled. If not, it will be soon."""
    return _background.is_ready(_prepare)


def parallel_for(
    pool: WorkerPool,
    ranges: Sequence[tuple[int, int]],
    calls: Sequence[PackedCall],
    again: Callable[[int, int], None] | None = None,
) -> None:
    """Make calls, one after the other, for each range, in the threads of a pool.

    again: the same for a range in Python: where a kernel raises, it says why. Without it, none
    raises.
    """
    rows = np.stack([call.rows for call in calls], axis=1)
    counter, parts = np.zeros(1, np.int64), np.array(ranges, np.int64)
    failed = np.zeros(len(ranges), np.bool_)

    batch = batch_of_thread()

    def work(thread: int, _end: int) -> None:
        what = rows[thread], failed

        def share(turn: int) -> None:
            _share(counter, parts, pool.stop, pool.oldest, batch, turn, *what)

        take_turns(pool, counter, len(ranges), batch, share)

    pool.run(work, [(thread, thread + 1) for thread in range(len(rows))])
    for k in np.flatnonzero(failed).tolist():
        assert again is not None
        again(*ranges[k])


def take_turns(
    pool: WorkerPool, counter: Int64Array, count: int, batch: int, take: Callable[[int], None]
) -> None:
    """Call `take` until the counter says that so many ranges were taken, of a batch of this number.

    It is given the number of ranges that it may take before it returns: in the main thread one, as
    no other thread can answer Ctrl+C. It also returns when an older batch has work for the pool.
    Where it raises, no range is begun after that.
    """
    turn = 1 if threading.current_thread() is threading.main_thread() else count
    try:
        while counter[0] < count and not pool.cancelled:
            pool.help_older(batch)
            take(turn)
    except BaseException:
        counter[0] = count
        raise


def _prepare() -> None:
    one, none = np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
    _share(one, none, one, one, 0, 1, none, np.zeros(0, np.bool_))


@jit
def _share(
    counter: I64Vector,
    ranges: I64Table,
    stop: I64Vector,
    oldest: I64Vector,
    batch: int,
    turn: int,
    rows: I64Table,
    failed: BoolVector,
) -> None:
    """Take up to `turn` ranges, one after the other, and run all calls on each.

    counter: one number, of the next range, which threads share; ranges: begin and end of each;
    stop: one number, not 0 when no more are wanted; oldest: one number: of a batch that the thread
    should work for, if it is below `batch`; rows: the calls, packed; failed: is set for a range of
    which a call has failed.
    """
    for _ in range(turn):
        if oldest[0] < batch:
            return
        k = take_next(counter)
        if k >= len(ranges) or stop[0] != 0:
            return
        for call in range(len(rows)):
            if call_packed(rows[call].ctypes.data, ranges[k, 0], ranges[k, 1]) != 0:
                failed[k] = True
