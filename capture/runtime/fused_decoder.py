"""The decoder that a fused group begins with: chunks of samples, in memory that each thread keeps.

The rest of the group reads a chunk while it is still in the cache, in one entry into its kernel; of
sequences that are decoded frame by frame, each frame in one entry.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from gradiva.eager.execution.error_policy import replacements
from gradiva.eager.jit.packed_calls import KernelCall, NotPackableError, pack_call, run_calls
from gradiva.eager.jit.work_sharing import FEW
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import DecodeSeveral
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
from .sample_kernel import SampleKernel

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
        self._decodes_in_place = role.decode_in_place is not None
        self._framewise = role.decode_frames is not None
        decode = role.decode_frames or role.decode_in_place or role.decode
        self._make, costs = decode(call)
        self._several = None if self._framewise else role.several(call)
        shapes, needed = call.batch_shapes[0].shapes, np.array(costs, np.int64)
        sizes = call.batch_shapes[0].volumes
        if self._framewise:
            sizes = shapes[:, 1:].prod(axis=1)
        if self._decodes_in_place:  # what stands in for a sample that cannot be read is no larger
            sizes = np.maximum(needed, sizes)
        padded = -(-sizes // _ALIGNED) * _ALIGNED
        threads = call.pool.num_threads
        several = threads > 1 and self._several is None
        room = (_ROOM_OF_SEVERAL if several else _ROOM) // dtype.itemsize
        longer, dedicated = threads > 1, call.pool.dedicated
        self._ranges = chunks(needed + made, threads, padded, room, longer, dedicated)
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

    def run(self, run: SampleKernel, locate_error: Callable[[GradivaError], GradivaError]) -> None:
        """Decode each chunk, and run the rest of the group on it."""
        pool, ranges, several = self._call.pool, self._ranges, self._several
        together = len(ranges) > FEW and tracing.active is None
        if several is not None and run.source_offsets and together and can_loop():
            self._run_in_loop(several, run)
            if pool.cancelled or several.done.all():
                return
            ranges, several = _undone(ranges, several.done.tolist()), None
        pool.run(_Chunks(self, run, several, locate_error), ranges)

    def _run_in_loop(self, several: DecodeSeveral, run: SampleKernel) -> None:
        """What of it takes no Python."""
        pool, ranges = self._call.pool, self._ranges
        threads = min(pool.num_threads, len(ranges))
        memory = allocate(threads * self._room, self._dtype).reshape(threads, self._room)
        places, offsets = self.batch_shape.offsets, run.source_offsets
        calls = *several.calls(memory, places, threads), *run.calls(memory, threads)
        try:
            head, *rest = [pack_call(*one, threads) for one in calls]
        except NotPackableError:
            return
        laid = several.laid if self._decodes_in_place else None
        decode_in_loop(pool, ranges, head, rest, several.done, places, laid, offsets)


class _Chunks:
    """Decodes a chunk of samples one by one, and runs the rest of the group on them; each thread
    has memory of its own.

    run: the rest of the group; several: what decodes many samples at once, if anything does.
    """

    def __init__(
        self,
        decoder: FusedDecoder,
        run: SampleKernel,
        several: DecodeSeveral | None,
        locate_error: Callable[[GradivaError], GradivaError],
    ) -> None:
        call = decoder._call
        self._decoder, self._way, self._several = decoder, run, several
        self._locate_error = locate_error
        self._own: dict[int, tuple[Any, Sequence[KernelCall]]] = {}
        self._failed: Container[int] = () if call.failures is None else call.failures
        self._decodes_in_place, self._framewise = decoder._decodes_in_place, decoder._framewise
        self._offsets = decoder.batch_shape.offsets

    def __call__(self, begin: int, end: int) -> None:
        """Decode the samples `begin` to `end - 1`, and run the rest of the group on them."""
        memory, calls = self._memory_and_calls()
        done = self._decode_several(memory, begin, end)
        if done and all(done):
            run_calls(calls, begin, end)
            return
        first = begin
        for sample in range(begin, end):
            if done and done[sample - begin]:
                continue
            room = self._places[sample]
            out = memory[room : room + self._sizes[sample]]
            if self._framewise:
                first = sample + 1  # what is left for the end of the chunk

            def show(frame: int, sample: int = sample) -> None:
                self._way.set_frame(sample, frame)
                run_calls(calls, sample, sample + 1)

            if sample in self._failed or not self._decode(sample, out, show):
                self._stand_in(sample, out, show)
        if first < end:
            run_calls(calls, first, end)

    @functools.cached_property
    def _places(self) -> list[int]:
        places: list[int] = self._offsets.tolist()
        return places

    @functools.cached_property
    def _sizes(self) -> list[int]:
        sizes: list[int] = self._decoder._sizes.tolist()
        return sizes

    @functools.cached_property
    def _shapes(self) -> list[list[int]]:
        shapes: list[list[int]] = self._decoder._shapes.tolist()
        return shapes

    def _memory_and_calls(self) -> tuple[Any, Sequence[KernelCall]]:
        """Of this thread: memory for a chunk, and the rest of the group."""
        thread = threading.get_ident()
        if thread not in self._own:
            memory = allocate(self._decoder._room, self._decoder._dtype)
            self._own[thread] = memory, self._way.calls(memory, 1)
        return self._own[thread]

    def _decode_several(self, memory: Any, begin: int, end: int) -> Sequence[bool]:
        """Decode those samples of a chunk that can be decoded at once; returns which these are, or
        nothing."""
        several = self._several
        if several is None:
            return ()
        done: Sequence[bool] = several.make(memory, self._offsets, begin, end)
        if not self._decodes_in_place:
            return done
        assert several.laid is not None
        laid, together = several.laid[begin:end], self._way.source_offsets
        if together is not None:  # those that are not done are told again
            together.set_origins(begin, end, self._offsets[begin:end] + laid[:, 0], laid[:, 1])
            return done
        for sample, (at, pitch) in enumerate(laid.tolist(), begin):
            if done[sample - begin]:
                self._way.set_origin(sample, self._places[sample] + at, pitch)
        return done

    def _decode(self, sample: int, out: Any, show: Callable[[int], None]) -> bool:
        """Decode one sample. Returns False if its data cannot be read, where the decoder goes on
        after such errors."""
        decode: Any = self._decoder._make
        try:
            if self._framewise:
                decode(sample, out.reshape(self._shapes[sample][1:]), show)
            elif self._decodes_in_place:
                at, pitch = decode(sample, out)
                self._way.set_origin(sample, self._places[sample] + at, pitch)
            else:
                decode(sample, out.reshape(self._shapes[sample]))
        except GradivaError as error:
            error.complete(sample=sample)
            goes_on = self._decoder._call.goes_on_after
            if not isinstance(error, SampleDataError) or not goes_on(error):
                raise self._locate_error(error) from error.__cause__
            return False
        except Exception as error:
            raise OperatorRuntimeError(failure_text(error), sample=sample) from error
        return True

    def _stand_in(self, sample: int, out: Any, show: Callable[[int], None]) -> None:
        """Put what stands in for a sample that cannot be read into its place."""
        shape = self._shapes[sample]
        one = shape[1:] if self._framewise else shape
        values = replacements(self._decoder._call["fill_value"], self._decoder._dtype)
        out[: math.prod(one)].reshape(one)[...] = values
        if self._decodes_in_place:
            self._way.set_origin(sample, self._places[sample], math.prod(shape[1:]))
        for frame in range(shape[0] if self._framewise else 0):
            show(frame)


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
