"""Chains of row kernels over strips of pixels that stay in the first-level cache.

A strip is a row of an image, or a piece of a sample. Each step reads one buffer and writes the
other; the last one writes where the result belongs. An operator that works pixel by pixel is a
chain of one step; a fused group is a longer one that calls the same machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager.jit.jit import always_inline, jit, noinline
from gradiva.eager.jit.packed_calls import KernelCall, PerThread
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.intrinsics import call_row
from gradiva.eager.simd.memory import copy_bytes
from gradiva.eager.simd.streaming import finish_lines, use_nontemporal
from gradiva.eager.types.arrays import F32Table, I64Table, I64Vector, Int64Array, U8Vector

from .patch_rows import column_place, row_place
from .row_kernel import RowKernel, copy, join, reverse, split, split_reversed, stream

__all__ = [
    "FORM_CHANNELS",
    "PATCHES",
    "PIECE",
    "Chain",
    "RowStep",
    "finish_patches",
    "finish_row",
    "patch_columns",
    "strip_calls",
    "strips_use_nontemporal",
    "table",
]

PIECE: Final = 1024
"""Pixels of a strip, where a sample is not cut along its rows."""

_ALIGNED: Final = 64
_LINE: Final = 64
"""Bytes of a line of the caches."""

# The words of `Chain.form`: of the whole, then those of each step.
FORM_CHANNELS, _FLAT, _PLANES_IN, _PLANES_OUT, _PITCH, _ITEM, _ROOM, _STEPS, _EARLY = range(9)
_COPY, _SPLIT, _BACK, _JOIN, _TURN, _STREAM, PATCHES = range(9, 16)
_WHOLE: Final = 16
_AT_ADDRESS, _MIXES, _SIZE, _FIRST, _COUNT, _STRIDE, _MADE = range(7)
_WORDS: Final = 7
# Columns of the table with one row per sample, in bytes where they are distances.
FRAMES, ROWS, PIXELS, LAST, SOURCE, SOURCE_FRAME, SOURCE_ROW, TARGET = range(8)
TARGET_FRAME, TARGET_ROW, TARGET_PLANE, SOURCE_PLANE, MIRROR, UPSIDE_DOWN = range(8, 14)
# Of samples that become patches: pixels of a side, patches of a side of a block, frames and
# elements of a patch. TARGET_FRAME is then from the patches of some frames to those of the next.
_PATCH, _MERGE, _TEMPORAL, _SIZE_OF_PATCH = range(14, 18)


def table(count: int) -> Int64Array:
    """A table for `count` samples: columns as named in this module, one frame of one row each."""
    result = np.zeros((count, 18), np.int64)
    result[:, FRAMES] = result[:, ROWS] = 1
    return result


def patch_columns(
    samples: Int64Array, shapes: Int64Array, patch: int, merge: int, temporal: int, item: int
) -> None:
    """Fill in what the table says of samples that become patches; shapes: (N, 3), the height, the
    width and the channels of what is cut; item: bytes of an element. See `patch_rows.py`."""
    height, width, channels = shapes.T
    samples[:, _PATCH], samples[:, _MERGE], samples[:, _TEMPORAL] = patch, merge, temporal
    samples[:, _SIZE_OF_PATCH] = channels * (temporal * patch * patch)
    patches = (height // patch) * (width // patch)
    samples[:, TARGET_FRAME] = patches * samples[:, _SIZE_OF_PATCH] * item


def strips_use_nontemporal(target: np.ndarray[Any, Any], samples: Int64Array) -> bool:
    """Whether results go past the caches: they are large, and each strip begins with a line of the
    caches. Strips that share one are stored slowly."""
    if not use_nontemporal(target) or target.ctypes.data % _LINE:
        return False
    places = samples[:, [TARGET, TARGET_FRAME, TARGET_ROW, TARGET_PLANE]]
    return not (places % _LINE).any()


class RowStep(NamedTuple):
    """One row kernel and its parameters, float32 (N, 1 or channels, P); `made`: channels out."""

    row: RowKernel
    source: np.dtype[Any]
    target: np.dtype[Any]
    parameters: np.ndarray[Any, np.dtype[np.float32]]
    made: int


_Part: TypeAlias = tuple[RowKernel, np.dtype[Any], np.dtype[Any], tuple[int, ...], int]
"""Row kernel, dtypes, shape of a sample's parameters and channels made, of a step."""


def _is_alike(part: _Part) -> bool:
    """Whether it does the same to all channels."""
    row, _, _, shape, _ = part
    return row.kind == "channelwise" and shape[0] == 1


@lru_cache(maxsize=512)
def _form(
    parts: tuple[_Part, ...],
    dtype: np.dtype[Any],
    channels: int,
    pixels: int,
    planes_in: bool,
    planes_out: bool,
    mirrored: bool,
    past: bool,
    patches: bool,
) -> Int64Array:
    """What a chain is but for its parameters, as words.

    patches: whether planes become patches; past: whether what the last step makes goes past the
    caches; mirrored: whether it takes strips with the last pixel first: else nothing is compiled
    for that.
    """
    flat = all(map(_is_alike, parts)) and planes_in == planes_out
    pitch = -(-max(pixels, 1) // _ALIGNED) * _ALIGNED
    most = max([channels, *(made for *_, made in parts)])
    # What treats all channels alike at first does so before they are apart: in one call, of bytes
    # where it makes bytes.
    early = 0
    while not (flat or planes_in) and early < len(parts) and _is_alike(parts[early]):
        dtype = parts[early][2]
        early += 1
    form = np.zeros(_WHOLE + _WORDS * len(parts), np.int64)
    form[:_COPY] = (
        channels,
        flat,
        planes_in,
        planes_out,
        pitch,
        dtype.itemsize,
        pitch * most * 8,
        len(parts),
        early,
    )
    last = parts[-1][2] if parts else dtype
    # Pixels move as unsigned integers of their size, whatever they mean.
    here, there = (np.dtype(f"u{kind.itemsize}") for kind in (dtype, last))
    if past:
        form[_STREAM] = stream.address(there, there)
    if patches:
        form[PATCHES] = 1
    if not parts:
        form[_COPY] = form[_STREAM] or copy.address(here, here)
    if mirrored and (flat or planes_in):
        form[_TURN] = reverse.address(here, here)
    if not flat and not planes_in:
        form[_SPLIT] = split.address(here, here)
        if mirrored:
            form[_BACK] = split_reversed.address(here, here)
    if not flat and not planes_out:
        form[_JOIN] = join.address(there, there)
    steps = form[_WHOLE:].reshape(-1, _WORDS)
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
    return form


class Chain:
    """Steps in the form that kernels take. `channels`, `dtype`: of what the first step reads.

    planes_in, planes_out: whether channels are planes at the source and at the target, and not
    interleaved; pixels: the most a strip has; mirrored: whether samples may be; past: whether the
    result goes past the caches, as `strips_use_nontemporal` says; patches: whether the planes that
    come out are cut into patches, by `finish_patches`.
    """

    def __init__(
        self,
        steps: Sequence[RowStep],
        dtype: np.dtype[Any],
        channels: int,
        pixels: int,
        planes_in: bool = False,
        planes_out: bool = False,
        mirrored: bool = False,
        past: bool = False,
        patches: bool = False,
    ) -> None:
        parts: list[_Part] = []
        for row, source, target, parameters, made in steps:
            parts.append((row, source, target, parameters.shape[1:], made))
        self.form = _form(
            tuple(parts), dtype, channels, pixels, planes_in, planes_out, mirrored, past, patches
        )
        if len(steps) == 1:
            joined = steps[0].parameters.reshape(len(steps[0].parameters), -1)
        elif steps:
            columns = [step.parameters.reshape(len(step.parameters), -1) for step in steps]
            joined = np.concatenate(columns, axis=1)
        else:
            joined = np.zeros((0, 0), np.float32)
        self.parameters = np.ascontiguousarray(joined, np.float32)

    def scratch(self, threads: int = 1) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Room for two strips, for each of so many threads; for a third that becomes patches."""
        strips = 3 if self.form[PATCHES] else 2
        return np.empty((threads, strips * (int(self.form[_ROOM]) + _ALIGNED)), np.uint8)


@always_inline
def _finish_flat_row(
    source: int,
    pixels: int,
    mirror: int,
    form: Int64Array,
    parameters: int,
    one: int,
    other: int,
    target: int,
) -> None:
    """What `finish_row` does where all channels are treated alike: each step is one call for all.

    one, other: addresses of the two buffers that steps write in turns.
    """
    channels, count, past = form[FORM_CHANNELS], form[_STEPS], form[_STREAM]
    values = pixels * channels
    if mirror:
        to = one if count or past else target
        call_row(form[_TURN], source, to, pixels, 0, 0, channels, channels, 0, 0)
        source, one, other = to, other, one
    elif not count:
        call_row(form[_COPY], source, target, values, 0, 0, 1, 1, 0, 0)
        return
    for k in range(count):
        to = target if k == count - 1 and not past else one
        step = _WHOLE + _WORDS * k
        at, size = parameters + 4 * form[step + _FIRST], form[step + _COUNT]
        call_row(form[step + _AT_ADDRESS], source, to, values, 0, 0, 1, 1, at, size)
        source, one, other = to, other, one
    if past:
        call_row(past, source, target, values, 0, 0, 1, 1, 0, 0)


@noinline
def finish_row(
    source: int,
    source_pitch: int,
    pixels: int,
    mirror: int,
    form: Int64Array,
    parameters: int,
    scratch: int,
    target: int,
    target_pitch: int,
) -> None:
    """Take one strip from `source` through all steps to `target`; they are addresses, as are
    `parameters` and `scratch`.

    source_pitch, target_pitch: elements from one plane to the next, where channels are planes.
    """
    channels, count, past = form[FORM_CHANNELS], form[_STEPS], form[_STREAM]
    one = (scratch + 63) // 64 * 64
    other = one + form[_ROOM]
    if form[_FLAT]:
        _finish_flat_row(source, pixels, mirror, form, parameters, one, other, target)
        return
    size = form[_ITEM]
    # What becomes planes is written where it belongs, unless it goes there past the caches.
    last = count - 1 if form[_PLANES_OUT] and not past else count
    if form[_PLANES_IN]:
        if mirror:
            for c in range(channels):
                here = source + c * source_pitch * size
                there = one + c * form[_PITCH] * size
                call_row(form[_TURN], here, there, pixels, 0, 0, 1, 1, 0, 0)
            source, source_pitch, one, other = one, form[_PITCH], other, one
    else:
        early = form[_EARLY]
        for k in range(early):
            step = _WHOLE + _WORDS * k
            address, at = form[step + _AT_ADDRESS], parameters + 4 * form[step + _FIRST]
            values = pixels * channels
            call_row(address, source, one, values, 0, 0, 1, 1, at, form[step + _COUNT])
            source, one, other = one, other, one
        direct = last < early
        to = target if direct else one
        pitch = target_pitch if direct else form[_PITCH]
        address = form[_BACK] if mirror else form[_SPLIT]
        call_row(address, source, to, pixels, 0, pitch, channels, channels, 0, 0)
        source, source_pitch, one, other = to, pitch, other, one
    for k in range(form[_EARLY], count):
        direct = k == last
        to = target if direct else one
        pitch = target_pitch if direct else form[_PITCH]
        step = _WHOLE + _WORDS * k
        address, at = form[step + _AT_ADDRESS], parameters + 4 * form[step + _FIRST]
        made, counted = form[step + _MADE], form[step + _COUNT]
        if form[step + _MIXES]:
            call_row(address, source, to, pixels, source_pitch, pitch, channels, made, at, counted)
        else:
            for c in range(channels):
                here = source + c * source_pitch * size
                there = to + c * pitch * form[step + _SIZE]
                own = at + 4 * c * form[step + _STRIDE]
                call_row(address, here, there, pixels, 0, 0, 1, 1, own, counted)
        channels, size = made, form[step + _SIZE]
        source, source_pitch, one, other = to, pitch, other, one
    if not form[_PLANES_OUT]:
        to = one if past else target
        call_row(form[_JOIN], source, to, pixels, source_pitch, 0, channels, channels, 0, 0)
        if past:
            call_row(past, to, target, pixels * channels, 0, 0, 1, 1, 0, 0)
    elif past:
        for c in range(channels):
            here = source + c * source_pitch * size
            call_row(past, here, target + c * target_pitch * size, pixels, 0, 0, 1, 1, 0, 0)


@noinline
def finish_patches(
    source: int,
    pixels: int,
    frame: int,
    y: int,
    form: Int64Array,
    parameters: int,
    scratch: int,
    sample: Int64Array,
    target: int,
    item: int,
) -> None:
    """Take one row of interleaved pixels through all steps, and each part of it to its patch.

    frame, y: the number of the frame, and of the row in it; target: the address where the slab with
    the results begins; item: bytes of an element there; sample: a row of the table. The others are
    those of `finish_row`.
    """
    strip = (scratch + 63) // 64 * 64 + 2 * form[_ROOM]
    pitch, steps, mirror = form[_PITCH], form[_STEPS], sample[MIRROR]
    finish_row(source, 0, pixels, mirror, form, parameters, scratch, strip, pitch)
    made = form[_WHOLE + _WORDS * (steps - 1) + _MADE] if steps else form[FORM_CHANNELS]
    patch, merge, temporal = sample[_PATCH], sample[_MERGE], sample[_TEMPORAL]
    size, square, wide = sample[_SIZE_OF_PATCH], patch * patch, pixels // patch
    length, first = patch * item, frame % temporal
    last = temporal if frame == sample[FRAMES] - 1 else first + 1
    there = target + sample[TARGET] + frame // temporal * sample[TARGET_FRAME]
    there += row_place(y, wide, patch, merge, size) * item
    for x in range(wide):
        at = there + column_place(x, merge, size) * item
        for c in range(made):
            here = strip + (c * pitch + x * patch) * item
            for t in range(first, last):
                to = at + (c * temporal + t) * square * item
                copy_bytes(here, to, length)


@jit
def _run(
    source: int,
    target: int,
    samples: I64Table,
    form: I64Vector,
    parameters: F32Table,
    sizes: I64Vector,
    scratch: U8Vector,
    begin: int,
    end: int,
) -> None:
    """Take samples through a chain, strip by strip; see `table` for `samples`.

    source, target: addresses of two slabs; form, parameters: of the chain; sizes: bytes of an
    element of the source and of the target; scratch: memory for two strips; begin, end: the range
    of samples.
    """
    width, room = parameters.shape[1], scratch.ctypes.data
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
                own = address + 4 * i * width
                if form[PATCHES]:
                    finish_patches(
                        here, pixels, frame, where, form, own, room, row, target, sizes[1]
                    )
                    continue
                there = target + row[TARGET] + frame * row[TARGET_FRAME] + where * row[TARGET_ROW]
                finish_row(
                    here,
                    row[SOURCE_PLANE] // sizes[0],
                    pixels,
                    row[MIRROR],
                    form,
                    own,
                    room,
                    there,
                    row[TARGET_PLANE] // sizes[1],
                )
    if form[_STREAM]:
        finish_lines()


def strip_calls(
    data: np.ndarray[Any, Any],
    samples: Int64Array,
    chain: Chain,
    target: np.ndarray[Any, Any],
    threads: int = 1,
) -> list[KernelCall]:
    """The call by which so many threads take samples from one slab to another; see `table` for
    `samples`. data: the first slab, or one for each thread, (threads, elements)."""
    sizes = np.array((data.itemsize, target.itemsize), np.int64)
    scratch = chain.scratch(threads)
    source = address_of(data) if data.ndim == 1 else PerThread(data, address=True)
    parts = chain.form, chain.parameters, sizes, scratch[0] if threads == 1 else PerThread(scratch)
    return [(_run, (source, address_of(target), samples, *parts))]
