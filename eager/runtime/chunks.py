"""Splits the samples of a batch into chunks that are large enough for a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["MANY", "chunks"]

MANY = 4
"""With more threads than this, the number of requests for the interpreter is what counts: waking a
thread that waits for it takes as long as several microseconds of Python. Then chunks are longer."""

_SAMPLE, _ELEMENT = 5000.0, 3.0
"""The approximate cost of a sample, and of each of its elements, in nanoseconds."""
_LEAST, _LEAST_OF_MANY, _MOST = 250e3, 500e3, 1e6
"""A smaller chunk is not worth handing to another thread: that costs tens of microseconds, and more
if the threads wait for the interpreter. A larger minimum might keep the other threads waiting."""
_CALLERS = 2
"""With at most this many threads, chunks may have the minimum size."""
_EACH, _EACH_OF_MANY = 4, 2
"""The number of chunks for each thread: with this many, no thread waits long for the last chunk."""
_LONGER = 8
"""The factor by which a chunk may be longer if there are many threads."""


def chunks(
    costs: Sequence[float] | Numbers,
    threads: int,
    sizes: Sequence[int] | Numbers | None = None,
    room: int = 0,
    longer: bool = False,
    dedicated: bool = False,
) -> list[tuple[int, int]]:
    """Ranges of samples that follow each other, the costly ranges first.

    costs: of each sample, in elements; sizes, room: what each takes of a room that all samples of a
    range share, unless one is too large for it alone; longer: chunks are as long as for many
    threads, however many there are; dedicated: other batches are made meanwhile. Work of less than
    a millisecond is one range; of a batch that somebody waits for, of less than a part of it where
    there are many threads.
    """
    costs = np.asarray(costs, np.float64)
    sizes = np.zeros(0, np.int64) if sizes is None else np.asarray(sizes, np.int64)
    total = len(costs) * _SAMPLE + _ELEMENT * float(costs.sum())
    least = _LEAST_OF_MANY if threads > MANY else _LEAST
    alone = _MOST if dedicated else max(_MOST * min(_CALLERS / threads, 1.0), least)
    each, longest = (_EACH_OF_MANY, _LONGER * _MOST) if longer or threads > MANY else (_EACH, _MOST)
    most = total if total < alone else min(max(total / (each * threads), least), longest)
    if most == total and int(sizes.sum()) <= room:
        return [(0, len(costs))] if len(costs) else []
    taking = sizes.tolist() if len(sizes) else [0] * len(costs)
    ranges: list[tuple[float, int, int]] = []
    first, spent, taken = 0, 0.0, 0
    for sample, (elements, size) in enumerate(zip(costs.tolist(), taking, strict=True)):
        cost = _SAMPLE + _ELEMENT * elements
        if sample > first and (spent + cost > most or taken + size > room > 0):
            ranges.append((spent, first, sample))
            first, spent, taken = sample, 0.0, 0
        spent += cost
        taken += size
    ranges.append((spent, first, len(costs)))
    ranges.sort(key=lambda entry: -entry[0])
    return [(begin, end) for _, begin, end in ranges]
