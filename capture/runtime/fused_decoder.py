"""The decoder that a fused group begins with: chunks of samples, in memory that each thread keeps.

The rest of the group reads a chunk while it is still in the cache, in one entry into its kernel; of
sequences that are decoded frame by frame, each frame in one entry.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from gradiva.eager.execution.error_policy import replacements
from gradiva.eager.jit.flat_calls import NotFlatError
from gradiva.eager.jit.work_sharing import FEW
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import DecodeSeveral, FlatDecode
from gradiva.eager.runtime.chunks import chunks
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    SampleDataError,
    failure_text,
)
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import BatchShape

from .decode_loop import can_loop, decode_in_loop
from .sample_runs import Run
from .unread_samples import UnreadSamples

__all__ = ["FusedDecoder"]

_ROOM = 1 << 19
"""Bytes of decoded samples in a chunk, unless one sample has more: what stays in a core's cache."""
_ROOM_OF_SEVERAL = 1 << 21
"""The same where threads take turns in the interpreter: longer chunks ask for it less often, which
gains more than is lost where what was decoded comes from the cache that cores share."""
_ALIGNED = 64


class FusedDecoder:
    """The samples of a decoder's call, and where they lie while the rest of the group reads them.

    batch_shape: their places within their chunks; for a decoder that decodes in place, where its
    memory begins.
    """

    def __init__(self, call: Call, made: Int64Array, dtype: np.dtype[Any]) -> None:
        """made: the elements of each sample that comes out of the group."""
        role = call.operator.fusion_role
        self._call, self._dtype = call, dtype
        self._loose, self._framewise = (
            role.decode_in_place is not None,
            role.decode_frames is not None,
        )
        decode = role.decode_frames or role.decode_in_place or role.decode
        self._make, costs = decode(call)
        self._several = None if self._framewise else role.several(call)
        shapes, needed = call.batch_shapes[0].shapes, np.array(costs, np.int64)
        sizes = call.batch_shapes[0].volumes
        if self._framewise:
            sizes = shapes[:, 1:].prod(axis=1)
        if self._loose:  # what stands in for a sample that cannot be read is no larger
            sizes = np.maximum(needed, sizes)
        padded = -(-sizes // _ALIGNED) * _ALIGNED
        threads = call.pool.num_threads
        several = threads > 1 and (self._several is None or self._several.flat is None)
        room = (_ROOM_OF_SEVERAL if several else _ROOM) // dtype.itemsize
        longer, apart = threads > 1, call.pool.apart
        self._ranges = chunks(needed + made, threads, padded, room, longer, apart)
        ends = padded.cumsum()
        offsets = ends - padded
        self._room = int(ends[-1])
        if len(self._ranges) > 1:
            firsts = np.empty_like(offsets)
            for begin, end in self._ranges:
                firsts[begin:end] = offsets[begin]
            offsets -= firsts
            self._room = int((offsets + padded).max())
        self._sizes, self._shapes = sizes, shapes
        self.batch_shape = BatchShape(shapes, offsets, self._room, False, False, False)

    def run(
        self, run: Run, blame: Callable[[GradivaError], GradivaError], unread: UnreadSamples | None
    ) -> None:
        """Decode each chunk, and run the rest of the group on it. unread: the samples that cannot
        be read, where the decoder goes on after them."""
        pool, ranges, several = self._call.pool, self._ranges, self._several
        together = len(ranges) > FEW and tracing.active is None
        if several is not None and several.flat and run.flat and together and can_loop():
            self._run_in_loop(several, several.flat, run)
            if pool.cancelled or several.flat.done.all():
                return
            ranges, several = _undone(ranges, several.flat.done.tolist()), None
        self._run_in_python(run, several, ranges, blame, unread)

    def _run_in_loop(self, several: DecodeSeveral, flat: FlatDecode, run: Run) -> None:
        """What of it takes no Python."""
        assert run.flat is not None
        pool, ranges = self._call.pool, self._ranges
        lanes = min(pool.num_threads, len(ranges))
        memory = allocate(lanes * self._room, self._dtype).reshape(lanes, self._room)
        places, origins = self.batch_shape.offsets, run.origins if self._loose else None
        try:
            head = flat.call(memory, places, lanes)
            rest = run.flat(memory, *run.arguments, lanes)
        except NotFlatError:
            return
        decode_in_loop(pool, ranges, head, rest, flat.done, places, several.laid, origins)

    def _run_in_python(
        self,
        way: Run,
        several: DecodeSeveral | None,
        ranges: list[tuple[int, int]],
        blame: Callable[[GradivaError], GradivaError],
        unread: UnreadSamples | None,
    ) -> None:
        own: dict[int, tuple[Any, Callable[[Any, int, int], None]]] = {}
        failed: Container[int] = () if self._call.failures is None else self._call.failures
        decode: Any = self._make
        loose, framewise = self._loose, self._framewise
        offsets = self.batch_shape.offsets
        places, sizes, shapes = offsets.tolist(), self._sizes.tolist(), self._shapes.tolist()
        place, aim = way.place, way.aim

        def some(begin: int, end: int) -> None:
            thread, first = threading.get_ident(), begin
            if thread not in own:
                own[thread] = allocate(self._room, self._dtype), way.bind(*way.arguments)
            memory, run = own[thread]
            done = () if several is None else several.make(memory, offsets, begin, end)
            laid: Any = several.laid[begin:end].tolist() if several and done and loose else ()  # type: ignore[index]
            for sample in range(begin, end):
                room = places[sample]
                if done and done[sample - begin]:
                    if loose:
                        at, pitch = laid[sample - begin]
                        place(sample, room + at, pitch)
                    continue
                out = memory[room : room + sizes[sample]]

                def show(frame: int, sample: int = sample) -> None:
                    aim(sample, frame)
                    run(memory, sample, sample + 1)

                if framewise:
                    first = sample + 1  # what is left for the end of the chunk
                try:
                    if sample not in failed:
                        if framewise:
                            decode(sample, out.reshape(shapes[sample][1:]), show)
                        elif loose:
                            at, pitch = decode(sample, out)
                            place(sample, room + at, pitch)
                        else:
                            decode(sample, out.reshape(shapes[sample]))
                        continue
                except GradivaError as error:
                    error.complete(sample=sample)
                    if not isinstance(error, SampleDataError) or not self._call.goes_on_after(
                        error
                    ):
                        raise blame(error) from error.__cause__
                    if unread is not None and unread.skips:
                        if first < sample:
                            run(memory, first, sample)
                        first = sample + 1
                        continue
                except Exception as error:
                    raise OperatorRuntimeError(failure_text(error), sample=sample) from error
                self._stand_in(sample, out, place, unread)
                for frame in range(shapes[sample][0] if framewise else 0):
                    show(frame)
            if first < end:
                run(memory, first, end)

        self._call.pool.run(some, ranges)

    def _stand_in(
        self,
        sample: int,
        out: Any,
        place: Callable[[int, int, int], None],
        unread: UnreadSamples | None,
    ) -> None:
        """Put what stands in for a sample that cannot be read into its place."""
        assert unread is not None
        shape = self._shapes[sample].tolist()
        one = shape[1:] if self._framewise else shape
        values = replacements(unread.fill_value, self._dtype)
        out[: math.prod(one)].reshape(one)[...] = values
        if self._loose:
            place(sample, int(self.batch_shape.offsets[sample]), math.prod(shape[1:]))


def _undone(ranges: Sequence[tuple[int, int]], done: Sequence[bool]) -> list[tuple[int, int]]:
    """The parts of the ranges whose samples are not done."""
    found: list[tuple[int, int]] = []
    for begin, end in ranges:
        for sample in range(begin, end):
            if done[sample]:
                continue
            if found and found[-1][1] == sample > begin:
                found[-1] = found[-1][0], sample + 1
            else:
                found.append((sample, sample + 1))
    return found
