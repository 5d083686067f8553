"""Chains of row kernels over strips of pixels that stay in the first-level cache.

A strip is a row of an image, or a piece of a sample. Each step reads one buffer and writes the
other; the last one writes where the result belongs. An operator that works pixel by pixel is a
chain of one step; a fused group is a longer one that calls the same machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Int64Array

from .flat_calls import BEGIN, END, FlatCall, Lanes, flat_call
from .intrinsics import call_row
from .jit import jit, outlined
from .row_kernel import RowKernel, copy, join, reverse, split, split_reversed, stream
from .streaming import finish_lines, goes_past

__all__ = [
    "PIECE",
    "Chain",
    "Step",
    "bind_strips",
    "finish_row",
    "flat_strips",
    "run_strips",
    "strips_go_past",
    "table",
]

PIECE: Final = 1024
"""Pixels of a strip, where a sample is not cut along its rows."""

_ALIGNED: Final = 64
_LINE: Final = 64
"""Bytes of a line of the caches."""

# Columns of `Chain.group`.
_CHANNELS, _FLAT, _PLANES_IN, _PLANES_OUT, _PITCH, _ITEM = range(6)
_COPY, _SPLIT, _BACK, _JOIN, _TURN, _STREAM = range(6, 12)
# Columns of `Chain.steps`.
_AT_ADDRESS, _MIXES, _SIZE, _FIRST, _COUNT, _STRIDE, _MADE = range(7)
# Columns of the table with one row per sample, in bytes where they are distances.
FRAMES, ROWS, PIXELS, LAST, SOURCE, SOURCE_FRAME, SOURCE_ROW, TARGET = range(8)
TARGET_FRAME, TARGET_ROW, TARGET_PLANE, SOURCE_PLANE, MIRROR, UPSIDE_DOWN = range(8, 14)


def table(count: int) -> Int64Array:
    """A table for `count` samples: columns as named in this module, one frame of one row each."""
    result = np.zeros((count, 14), np.int64)
    result[:, FRAMES] = result[:, ROWS] = 1
    return result


def strips_go_past(target: np.ndarray[Any, Any], samples: Int64Array) -> bool:
    """Whether results go past the caches: they are large, and each strip begins with a line of the
    caches. Strips that share one are stored slowly."""
    if not goes_past(target) or target.ctypes.data % _LINE:
        return False
    places = samples[:, [TARGET, TARGET_FRAME, TARGET_ROW, TARGET_PLANE]]
    return not (places % _LINE).any()


class Step(NamedTuple):
    """One row kernel and its parameters, float32 (N, 1 or channels, P); `made`: channels out."""

    row: RowKernel
    source: np.dtype[Any]
    target: np.dtype[Any]
    parameters: np.ndarray[Any, np.dtype[np.float32]]
    made: int


@lru_cache(maxsize=512)
def _form(
    parts: tuple[tuple[RowKernel, np.dtype[Any], np.dtype[Any], tuple[int, ...], int], ...],
    dtype: np.dtype[Any],
    channels: int,
    pixels: int,
    planes_in: bool,
    planes_out: bool,
    mirrored: bool,
    past: bool,
) -> tuple[int, Int64Array, Int64Array]:
    """What a chain is but for its parameters: bytes of scratch, `Chain.group`, `Chain.steps`.

    past: whether what the last step makes goes past the caches;
    mirrored: whether it takes strips with the last pixel first: else nothing is compiled for that;
    parts: row kernel, dtypes, shape of a sample's parameters and channels made, of each step.
    """
    alike = all(row.kind == "channelwise" and shape[0] == 1 for row, _, _, shape, _ in parts)
    flat = alike and planes_in == planes_out
    pitch = -(-max(pixels, 1) // _ALIGNED) * _ALIGNED
    most = max([channels, *(made for *_, made in parts)])
    group = np.zeros(12, np.int64)
    group[[_CHANNELS, _FLAT, _PLANES_IN, _PLANES_OUT, _PITCH, _ITEM]] = (
        channels,
        flat,
        planes_in,
        planes_out,
        pitch,
        dtype.itemsize,
    )
    last = parts[-1][2] if parts else dtype
    # Pixels move as unsigned integers of their size, whatever they mean.
    here, there = (np.dtype(f"u{kind.itemsize}") for kind in (dtype, last))
    if past:
        group[_STREAM] = stream.address(there, there)
    if not parts:
        group[_COPY] = group[_STREAM] or copy.address(here, here)
    if mirrored and (flat or planes_in):
        group[_TURN] = reverse.address(here, here)
    if not flat and not planes_in:
        group[_SPLIT] = split.address(here, here)
        if mirrored:
            group[_BACK] = split_reversed.address(here, here)
    if not flat and not planes_out:
        group[_JOIN] = join.address(there, there)
    steps = np.zeros((len(parts), 7), np.int64)
    first = 0
    for index, (row, source, target, (rows, count), made) in enumerate(parts):
        steps[index] = (
            row.address(source, target),
            row.kind == "mixing",
            target.itemsize,
            first,
            count,
            count if rows > 1 else 0,
            made,
        )
        first += rows * count
    return pitch * most * 8, group, steps


class Chain:
    """Steps in the form that kernels take. `channels`, `dtype`: of what the first step reads.

    planes_in, planes_out: whether channels are planes at the source and at the target, and not
    interleaved; pixels: the most a strip has; mirrored: whether samples may be; past: whether the
    result goes past the caches, as `strips_go_past` says.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        dtype: np.dtype[Any],
        channels: int,
        pixels: int,
        planes_in: bool = False,
        planes_out: bool = False,
        mirrored: bool = False,
        past: bool = False,
    ) -> None:
        parts = tuple(
            (step.row, step.source, step.target, step.parameters.shape[1:], step.made)
            for step in steps
        )
        self.bytes, self.group, self.steps = _form(
            parts, dtype, channels, pixels, planes_in, planes_out, mirrored, past
        )
        if len(steps) == 1:
            joined = steps[0].parameters.reshape(len(steps[0].parameters), -1)
        elif steps:
            columns = [step.parameters.reshape(len(step.parameters), -1) for step in steps]
            joined = np.concatenate(columns, axis=1)
        else:
            joined = np.zeros((0, 0), np.float32)
        self.parameters = np.ascontiguousarray(joined, np.float32)

    def scratch(self, lanes: int = 1) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Room for two strips, for each of so many threads."""
        return np.empty((lanes, 2, self.bytes + _ALIGNED), np.uint8)


@outlined
def finish_row(
    source: int,
    source_pitch: int,
    pixels: int,
    mirror: int,
    group: Any,
    steps: Any,
    parameters: int,
    scratch: Any,
    target: int,
    target_pitch: int,
) -> None:
    """Take one strip from `source` through all steps to `target`; both are addresses.

    source_pitch, target_pitch: elements from one plane to the next, where channels are planes.
    """
    channels, count, past = group[_CHANNELS], len(steps), group[_STREAM]
    one, other = scratch[0].ctypes.data, scratch[1].ctypes.data
    one = (one + 63) // 64 * 64
    other = (other + 63) // 64 * 64
    if group[_FLAT]:
        values = pixels * channels
        if mirror:
            to = one if count or past else target
            call_row(group[_TURN], source, to, pixels, 0, 0, channels, channels, 0, 0)
            source, one, other = to, other, one
        elif not count:
            call_row(group[_COPY], source, target, values, 0, 0, 1, 1, 0, 0)
            return
        for k in range(count):
            to = target if k == count - 1 and not past else one
            at = parameters + 4 * steps[k, _FIRST]
            call_row(steps[k, _AT_ADDRESS], source, to, values, 0, 0, 1, 1, at, steps[k, _COUNT])
            source, one, other = to, other, one
        if past:
            call_row(past, source, target, values, 0, 0, 1, 1, 0, 0)
        return
    size = group[_ITEM]
    # What becomes planes is written where it belongs, unless it goes there past the caches.
    last = count - 1 if group[_PLANES_OUT] and not past else count
    if group[_PLANES_IN]:
        if mirror:
            for c in range(channels):
                here = source + c * source_pitch * size
                there = one + c * group[_PITCH] * size
                call_row(group[_TURN], here, there, pixels, 0, 0, 1, 1, 0, 0)
            source, source_pitch, one, other = one, group[_PITCH], other, one
    else:
        direct = last < 0
        to = target if direct else one
        pitch = target_pitch if direct else group[_PITCH]
        address = group[_BACK] if mirror else group[_SPLIT]
        call_row(address, source, to, pixels, 0, pitch, channels, channels, 0, 0)
        source, source_pitch, one, other = to, pitch, other, one
    for k in range(count):
        direct = k == last
        to = target if direct else one
        pitch = target_pitch if direct else group[_PITCH]
        address, at = steps[k, _AT_ADDRESS], parameters + 4 * steps[k, _FIRST]
        made = steps[k, _MADE]
        if steps[k, _MIXES]:
            call_row(
                address,
                source,
                to,
                pixels,
                source_pitch,
                pitch,
                channels,
                made,
                at,
                steps[k, _COUNT],
            )
        else:
            for c in range(channels):
                here = source + c * source_pitch * size
                there = to + c * pitch * steps[k, _SIZE]
                own = at + 4 * c * steps[k, _STRIDE]
                call_row(address, here, there, pixels, 0, 0, 1, 1, own, steps[k, _COUNT])
        channels, size = made, steps[k, _SIZE]
        source, source_pitch, one, other = to, pitch, other, one
    if not group[_PLANES_OUT]:
        to = one if past else target
        call_row(group[_JOIN], source, to, pixels, source_pitch, 0, channels, channels, 0, 0)
        if past:
            call_row(past, to, target, pixels * channels, 0, 0, 1, 1, 0, 0)
    elif past:
        for c in range(channels):
            here = source + c * source_pitch * size
            call_row(past, here, target + c * target_pitch * size, pixels, 0, 0, 1, 1, 0, 0)


@jit
def _run(
    source: int,
    target: int,
    samples: Any,
    group: Any,
    steps: Any,
    parameters: Any,
    sizes: Any,
    scratch: Any,
    begin: int,
    end: int,
) -> None:
    width = parameters.shape[1]
    address = parameters.ctypes.data
    for i in range(begin, end):
        row = samples[i]
        rows = row[ROWS]
        for frame in range(row[FRAMES]):
            for y in range(rows):
                pixels = row[LAST] if y == rows - 1 else row[PIXELS]
                if pixels <= 0:
                    continue
                where = rows - 1 - y if row[UPSIDE_DOWN] else y
                here = source + row[SOURCE] + frame * row[SOURCE_FRAME] + y * row[SOURCE_ROW]
                there = target + row[TARGET] + frame * row[TARGET_FRAME] + where * row[TARGET_ROW]
                finish_row(
                    here,
                    row[SOURCE_PLANE] // sizes[0],
                    pixels,
                    row[MIRROR],
                    group,
                    steps,
                    address + 4 * i * width,
                    scratch,
                    there,
                    row[TARGET_PLANE] // sizes[1],
                )
    if group[_STREAM]:
        finish_lines()


def bind_strips(
    samples: Int64Array, chain: Chain, target: np.ndarray[Any, Any]
) -> Callable[[np.ndarray[Any, Any], int, int], None]:
    """A function `(source, begin, end)` that takes samples from one slab to another, with scratch
    for one thread; see `table` for `samples`."""
    sizes = np.array((0, target.itemsize), np.int64)
    arguments = samples, chain.group, chain.steps, chain.parameters, sizes, chain.scratch()[0]
    address = target.ctypes.data

    def run(source: np.ndarray[Any, Any], begin: int, end: int) -> None:
        sizes[0] = source.itemsize
        _run(source.ctypes.data, address, *arguments, begin, end)

    return run


def flat_strips(
    data: np.ndarray[Any, Any],
    samples: Int64Array,
    chain: Chain,
    target: np.ndarray[Any, Any],
    lanes: int,
) -> list[FlatCall]:
    """The same for several threads, which read one slab, or each a row of `data`."""
    sizes = np.array((data.itemsize, target.itemsize), np.int64)
    parts = chain.group, chain.steps, chain.parameters, sizes
    scratch, address = Lanes(chain.scratch(lanes)), target.ctypes.data
    source = data.ctypes.data if data.ndim == 1 else Lanes(data, address=True)
    arguments = source, address, samples, *parts, scratch, BEGIN, END
    return [flat_call(_run, arguments, lanes)]


def run_strips(
    source: np.ndarray[Any, Any],
    samples: Int64Array,
    chain: Chain,
    target: np.ndarray[Any, Any],
    begin: int,
    end: int,
) -> None:
    """Take the samples `begin .. end - 1` from one slab to another."""
    bind_strips(samples, chain, target)(source, begin, end)
