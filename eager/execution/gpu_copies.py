"""Launches that copy elements: windows, other orders of axes, pieces of slabs as they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.cuda.launch import (
    CudaKernel,
    Launch,
    OutputArg,
    blocks_of,
    refuse_large,
    type_name,
)
from gradiva.eager.values.batch import Batch

__all__ = [
    "AXES",
    "SLABS",
    "copy_launch",
    "fill_launch",
    "gather_table",
    "in_eights",
    "merged_axes",
    "move_launch",
    "piece_launches",
    "sample_launches",
    "steps_of",
    "table_launch",
    "transpose_launch",
]

Int64s = NDArray[np.int64]

AXES: Final = 5
_COPY: Final = CudaKernel("copy", ("gather.cuh", "copy.cuh"))


def gather_table(
    source: Int64s, target: Int64s, extents: Int64s, steps: Int64s, lows: Int64s, highs: Int64s
) -> NDArray[np.int32]:
    """(N, 30) int32: the struct `Gather` of gather.cuh; source, target: (N,), the others (N, 5).

    Extents fit, since `blocks_of` refuses samples that are too large.
    """
    wide = np.concatenate([source[:, None], target[:, None], steps], axis=1)
    volumes = extents.prod(axis=1)[:, None]
    narrow = np.concatenate([extents, lows, highs, volumes], axis=1).astype(np.int32)
    return np.concatenate([wide.view(np.int32), narrow], axis=1)


def copy_launch(
    source: Batch,
    target: Batch,
    table: NDArray[np.int32],
    fill: NDArray[Any] | None = None,
    axis: int = 4,
) -> Launch:
    """The launch that copies elements by a `gather_table`.

    fill: (N, 1) or (N, channels), of the target's dtype, for elements without a source; axis: the
    one whose coordinate says which channel an element is of.
    """
    data, result = source.data, target.data
    if source.dtype is target.dtype:
        # Bytes move whatever they mean.
        unsigned = f"u{source.dtype.itemsize}"
        data, result = data.view(unsigned), result.view(unsigned)
        fill = None if fill is None else np.ascontiguousarray(fill).view(unsigned)
    if fill is None:
        fill = np.zeros((len(table), 1), result.dtype)
    unit = _COPY.unit({"Source": type_name(data.dtype), "Target": type_name(result.dtype)})
    blocks = blocks_of(target.batch_shape.volumes)
    counts = np.int64(fill.shape[1]), np.int64(axis)
    return Launch(
        unit,
        blocks.total,
        (data, OutputArg(result), table, blocks.table, np.ascontiguousarray(fill), *counts),
    )


def table_launch(rows: NDArray[Any], target: Batch) -> Launch:
    """The launch that writes what the host knows, (N, values), into an output of such samples."""
    values = np.ascontiguousarray(rows, target.data.dtype).reshape(-1)
    extents = np.ones((len(rows), AXES), np.int64)
    extents[:, -1] = target.batch_shape.volumes
    first = np.arange(len(rows), dtype=np.int64) * rows.shape[1]
    table = gather_table(
        first,
        target.batch_shape.offsets,
        extents,
        steps_of(extents),
        np.zeros_like(extents),
        extents,
    )
    return copy_launch(Batch.over(values, target.batch_shape, target.type), target, table)


_MOVE: Final = CudaKernel("move", (None, "move.cuh"))
_TILES: Final = CudaKernel("tiles", (None, "tiles.cuh"))
_SIDES: Final = {1: 64, 2: 64, 4: 32, 8: 32}
"""Of a square tile, by the bytes of an element."""
_FEW: Final = 256
"""Planes of fewer elements are not worth a block of threads."""


def steps_of(shapes: Int64s) -> Int64s:
    """Elements from one coordinate to the next on each axis, of samples of these shapes."""
    steps = np.ones_like(shapes)
    for axis in range(shapes.shape[1] - 2, -1, -1):
        steps[:, axis] = steps[:, axis + 1] * shapes[:, axis + 1]
    return steps


def merged_axes(extents: Int64s, steps: Int64s) -> tuple[Int64s, Int64s]:
    """The same elements in the same order with as few axes as all samples allow, at least one.

    extents: of the result, (N, axes); steps: of the source.
    """
    columns: list[tuple[Any, Any]] = []  # from the last axis to the first
    for axis in reversed(range(extents.shape[1])):
        extent, step = extents[:, axis], steps[:, axis]
        if (extent == 1).all():
            continue
        if columns:
            inner, pace = columns[-1]
            # The step of an axis of extent 1 does not matter.
            if ((step == pace * inner) | (extent == 1) | (inner == 1)).all():
                columns[-1] = inner * extent, np.where(inner == 1, step, pace)
                continue
        columns.append((extent, step))
    if not columns:
        columns.append((np.ones(len(extents), np.int64), np.zeros(len(extents), np.int64)))
    wide, paces = (np.stack(parts[::-1], axis=1) for parts in zip(*columns, strict=True))
    return wide, paces


def move_launch(
    source: Batch, target: Batch, first: Int64s, extents: Int64s, steps: Int64s
) -> Launch:
    """The launch that fills the target's samples, whose elements in order are `extents` (N, axes),
    by `steps` in the slab of the source, from the elements `first` on; converted as by `cast`."""
    data, result = _as_bytes(source, target)
    extents, steps = merged_axes(extents, steps)
    blocks = blocks_of(target.batch_shape.volumes)
    wide = np.concatenate([first[:, None], target.batch_shape.offsets[:, None], steps], axis=1)
    narrow = np.concatenate([extents, target.batch_shape.volumes[:, None]], axis=1).astype(np.int32)
    if narrow.shape[1] % 2:
        narrow = np.pad(narrow, ((0, 0), (0, 1)))
    table = np.concatenate([wide.view(np.int32), narrow], axis=1)
    kinds = {"Source": type_name(data.dtype), "Target": type_name(result.dtype)}
    unit = _MOVE.unit(kinds, f"constexpr int AXES = {extents.shape[1]};\n")
    return Launch(unit, blocks.total, (data, OutputArg(result), table, blocks.table))


def transpose_launch(source: Batch, target: Batch, extents: Int64s, steps: Int64s) -> Launch:
    """The launch that permutes axes: as `move_launch`, from the first element of each sample on."""
    merged, paces = merged_axes(extents, steps)
    first = source.batch_shape.offsets
    sides = np.flatnonzero((paces == 1).all(axis=0)[:-1])
    if not len(sides) or (paces[:, -1] == 1).all():
        return move_launch(source, target, first, merged, paces)
    side = int(sides[0])
    high, wide = merged[:, side], merged[:, -1]
    outer = [axis for axis in range(merged.shape[1] - 1) if axis != side]
    planes = merged[:, outer].prod(axis=1)
    if (planes * high * wide).sum() < _FEW * planes.sum():
        return move_launch(source, target, first, merged, paces)
    data, result = _as_bytes(source, target)
    there = steps_of(merged)
    refuse_large(target.batch_shape.volumes)
    # A narrow plane has tiles as narrow as it is, which are longer for it.
    square = _SIDES[data.dtype.itemsize]
    tile_high, tile_wide = _side(high, wide, square), _side(wide, high, square)
    down, across = -(-high // tile_high), -(-wide // tile_wide)
    long = [first, target.batch_shape.offsets, paces[:, -1], there[:, side]]
    short = np.stack([high, wide, tile_high, tile_wide, down, across], axis=1).astype(np.int32)
    outer_columns = [paces[:, outer], there[:, outer], merged[:, outer]]
    columns = [np.stack(long, axis=1), short.view(np.int64), *outer_columns]
    if not outer:
        columns.append(np.tile(np.array([0, 0, 1]), (len(merged), 1)))
    blocks = blocks_of(planes * down * across, 1)
    kinds = {"Source": type_name(data.dtype)}
    # With its odd pitch a tile that is two wide takes half as much memory again.
    numbers = {"AXES": max(len(outer), 1), "MOST": square * square * 3 // 2}
    text = "".join(f"constexpr int {name} = {value};\n" for name, value in numbers.items())
    unit = _TILES.unit({**kinds, "Target": kinds["Source"]}, text)
    table = np.concatenate(columns, axis=1)
    return Launch(unit, blocks.total, (data, OutputArg(result), table, blocks.table))


def _side(extent: Int64s, other: Int64s, square: int) -> Int64s:
    """One side of a tile, whose other side is along an axis of extent `other`."""
    most = np.maximum(square * square // np.clip(other, 1, square) // square * square, square)
    side: Int64s = np.clip(extent, 1, most)
    return side


def _as_bytes(source: Batch, target: Batch) -> tuple[Any, Any]:
    """The slabs: as unsigned numbers where nothing is converted, since bytes move whatever they
    mean."""
    if source.dtype is not target.dtype:
        return source.data, target.data
    unsigned = f"u{source.dtype.itemsize}"
    return source.data.view(unsigned), target.data.view(unsigned)


SLABS: Final = 8
"""Slabs that one launch reads."""

_WORD: Final = 16
_PIECES: Final = CudaKernel("pieces", ("slabs.cuh", "pieces.cuh"))
_FILL: Final = CudaKernel("fill", ("fill.cuh",))


def in_eights(slabs: Sequence[Any]) -> list[tuple[int, list[Any]]]:
    """The slabs in groups of eight, with the number of the first one of each group. The last group
    is filled up, since a kernel has as many arguments in all calls."""
    groups = []
    for first in range(0, len(slabs), SLABS):
        group = list(slabs[first : first + SLABS])
        groups.append((first, group + group[:1] * (SLABS - len(group))))
    return groups


def piece_launches(
    slabs: Sequence[Any], target: Any, pieces: tuple[Any, Any, Any, Any]
) -> list[Launch]:
    """Launches that move pieces of slabs into one slab, a launch for each eight slabs.

    pieces: arrays, broadcast: of each piece the number of its slab, its first byte there, its first
    byte in the target, and its size in bytes. Pieces that follow each other in both are moved as
    one.
    """
    columns = [one.ravel() for one in np.broadcast_arrays(*pieces)]
    table = np.stack(columns, axis=1).astype(np.int64)
    table = _merged(table[table[:, 3] > 0])
    launches = []
    for first, group in in_eights(slabs):
        own = table
        if len(slabs) > SLABS:
            own = table[(table[:, 0] >= first) & (table[:, 0] < first + SLABS)]
            own[:, 0] -= first
        blocks = blocks_of(-(-own[:, 3] // _WORD))
        read = [slab.view(np.uint8) for slab in group]
        arguments = (*read, OutputArg(target.view(np.uint8)), own, blocks.table)
        launches.append(Launch(_PIECES.unit({}), blocks.total, arguments))
    return launches


def sample_launches(slab: Any, starts: Int64s, call: Any, number: int = 0) -> list[Launch]:
    """Launches that fill output `number` of a call with pieces of one slab, one for each sample,
    from these elements on."""
    target = call.outputs[number]
    size = target.dtype.itemsize
    places = target.batch_shape.offsets * size, target.batch_shape.volumes * size
    return piece_launches([slab], target.data, (0, starts * size, *places))


def _merged(table: Int64s) -> Int64s:
    follows = np.zeros(len(table), np.bool_)
    ends = table[:-1, 1:3] + table[:-1, 3:]
    follows[1:] = (table[1:, 1:3] == ends).all(axis=1) & (table[1:, 0] == table[:-1, 0])
    first = np.flatnonzero(~follows)
    merged = table[first]
    if len(first):
        merged[:, 3] = np.add.reduceat(table[:, 3], first)
    return merged


def fill_launch(target: Any, offsets: Int64s, volumes: Int64s, value: np.generic) -> Launch:
    """The launch that fills samples in a slab with one value, of the slab's dtype."""
    size = value.itemsize
    pattern = np.frombuffer(value.tobytes() * (8 // size), np.uint64)[0]
    spans = np.stack([offsets, volumes], axis=1) * size
    # A whole batch without gaps is one span.
    dense = (np.diff(spans[:, 0]) == spans[:-1, 1]).all() and len(spans)
    if dense:
        spans = np.array([[spans[0, 0], spans[:, 1].sum()]])
    blocks = blocks_of(-(-spans[:, 1] // _WORD))
    slab = OutputArg(target.view(np.uint8))
    return Launch(_FILL.unit({}), blocks.total, (slab, spans, blocks.table, pattern))
