"""The loop of a fused group behind a decoder, in compiled code: threads enter it once a batch.

Each takes range after range, by a counter that all share: it decodes the samples of the range in
memory of its own, and calls the kernels of the rest of the group on them. Nothing in it asks for
the interpreter. Samples that cannot be decoded here are left to the usual way, which finds words
for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.jit.packed_calls import PackedCall, call_packed, take_next
from gradiva.eager.jit.work_sharing import take_turns
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.tracing import batch_of_thread
from gradiva.eager.types.arrays import BoolVector, I64Table, I64Vector, Int64Array

_background = BackgroundKernel()


class SourceOffsets(NamedTuple):
    """Where kernels read that a sample begins, and the distance of its rows: the tables with a
    column for each; of each sample (N, 2), the row and the column of its first pixel, and the way
    its rows go, 1 or -1; the elements of a pixel, and what an element counts in the tables."""

    begins: Int64Array
    begin_column: int
    pitches: Int64Array
    pitch_column: int
    corners: Int64Array
    ways: Int64Array
    channels: int
    unit: int

    def set_origin(self, sample: int, first: int, pitch: int) -> None:
        """Say of a sample where it begins, and how many elements are from one of its rows to the
        next."""
        self.set_origins(sample, sample + 1, np.array([first]), np.array([pitch]))

    def set_origins(self, begin: int, end: int, firsts: Int64Array, pitches: Int64Array) -> None:
        """The same of a range of samples."""
        here = slice(begin, end)
        inside = self.corners[here, 0] * pitches + self.corners[here, 1] * self.channels
        self.begins[here, self.begin_column] = self.unit * (firsts + inside)
        self.pitches[here, self.pitch_column] = pitches * self.ways[here] * self.unit


_NO_TABLE, _NO_PAIRS = np.zeros((0, 1), np.int64), np.zeros((0, 2), np.int64)
_NO_OFFSETS = SourceOffsets(_NO_TABLE, 0, _NO_TABLE, 0, _NO_PAIRS, np.zeros(0, np.int64), 0, 0)


def can_loop() -> bool:
    """Whether `decode_in_loop` is compiled. If not, it will be soon."""
    return _background.is_ready(_prepare)


def _prepare() -> None:
    one, none = np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
    _work(one, none, one, one, 0, 1, one, none, np.zeros(0, np.bool_), one, none, *_NO_OFFSETS)


def decode_in_loop(
    pool: WorkerPool,
    ranges: Sequence[tuple[int, int]],
    head: PackedCall,
    rest: Sequence[PackedCall],
    done: Any,
    places: Int64Array,
    laid: Int64Array | None = None,
    source_offsets: SourceOffsets | None = None,
) -> None:
    """Decode the samples of some ranges, and run the rest of the group on them.

    head: decodes those of a range, and says in `done` which it has; places: where each begins;
    laid: for decoders that decode in place, how far behind that, and the elements from one row to
    the next, of which `source_offsets` are to be told.
    """
    threads = len(head.rows)
    counter, parts = np.zeros(1, np.int64), np.array(ranges, np.int64)
    calls = np.stack([one.rows for one in rest], axis=1)
    laid = _NO_PAIRS if laid is None else laid
    tables = _NO_OFFSETS if source_offsets is None else source_offsets

    batch = batch_of_thread()

    def work(thread: int, _end: int) -> None:
        what = head.rows[thread], calls[thread], done, places, laid, *tables

        def decode(turn: int) -> None:
            _work(counter, parts, pool.stop, pool.oldest, batch, turn, *what)

        take_turns(pool, counter, len(ranges), batch, decode)

    pool.run(work, [(thread, thread + 1) for thread in range(threads)])


@jit
def _work(
    counter: I64Vector,
    ranges: I64Table,
    stop: I64Vector,
    oldest: I64Vector,
    batch: int,
    turn: int,
    head: I64Vector,
    calls: I64Table,
    done: BoolVector,
    places: I64Vector,
    laid: I64Table,
    begins: I64Table,
    begin_column: int,
    pitches: I64Table,
    pitch_column: int,
    corners: I64Table,
    ways: I64Vector,
    channels: int,
    unit: int,
) -> None:
    """Take up to `turn` ranges: decode the samples of each, and run the rest of the group on them.

    counter, ranges, stop, oldest, batch: as of `work_sharing`; head: the packed call of the
    decoder; calls: those of the rest; done: whether a sample was decoded; places: the element of
    the memory at which each sample begins; laid: (N, 2), how far behind that its pixels begin, and
    the elements of a row, of decoders that decode in place; the others are the fields of
    `SourceOffsets`.
    """
    in_place = len(laid) > 0
    for _ in range(turn):
        if oldest[0] < batch:
            return
        k = take_next(counter)
        if k >= len(ranges) or stop[0] != 0:
            return
        begin, end = ranges[k]
        call_packed(head.ctypes.data, begin, end)
        first = begin
        for sample in range(begin, end + 1):
            if sample < end and done[sample]:
                if in_place:
                    pitch = laid[sample, 1]
                    inside = corners[sample, 0] * pitch + corners[sample, 1] * channels
                    begins[sample, begin_column] = unit * (
                        places[sample] + laid[sample, 0] + inside
                    )
                    pitches[sample, pitch_column] = pitch * unit * ways[sample]
                continue
            if first < sample:
                for call in range(len(calls)):
                    if call_packed(calls[call].ctypes.data, first, sample) != 0:
                        done[first:sample] = False
            first = sample + 1
