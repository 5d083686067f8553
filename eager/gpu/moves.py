"""Launches that read elements in steps: parts of samples, other orders of axes, repetitions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.cuda.launch import (
    CudaKernel,
    Launch,
    OutputArg,
    blocks_of,
    numbered,
    refuse_large,
    type_name,
)
from gradiva.eager.values.batch import Batch

__all__ = ["merged_axes", "move_launch", "steps_of", "transpose_launch"]

Int64s = NDArray[np.int64]

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
    blocks = blocks_of(target.geometry.volumes)
    wide = np.concatenate([first[:, None], target.geometry.offsets[:, None], steps], axis=1)
    narrow = np.concatenate([extents, target.geometry.volumes[:, None]], axis=1).astype(np.int32)
    if narrow.shape[1] % 2:
        narrow = np.pad(narrow, ((0, 0), (0, 1)))
    table = np.concatenate([wide.view(np.int32), narrow], axis=1)
    kinds = {"Source": type_name(data.dtype), "Target": type_name(result.dtype)}
    unit = _MOVE.unit(kinds, f"constexpr int AXES = {extents.shape[1]};\n")
    return Launch(unit, len(blocks), (data, OutputArg(result), table, blocks))


def transpose_launch(source: Batch, target: Batch, extents: Int64s, steps: Int64s) -> Launch:
    """The launch that permutes axes: as `move_launch`, from the first element of each sample on."""
    merged, paces = merged_axes(extents, steps)
    first = source.geometry.offsets
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
    refuse_large(target.geometry.volumes)
    # A narrow plane has tiles as narrow as it is, which are longer for it.
    square = _SIDES[data.dtype.itemsize]
    tile_high, tile_wide = _side(high, wide, square), _side(wide, high, square)
    down, across = -(-high // tile_high), -(-wide // tile_wide)
    long = [first, target.geometry.offsets, paces[:, -1], there[:, side]]
    short = np.stack([high, wide, tile_high, tile_wide, down, across], axis=1).astype(np.int32)
    outer_columns = [paces[:, outer], there[:, outer], merged[:, outer]]
    columns = [np.stack(long, axis=1), short.view(np.int64), *outer_columns]
    if not outer:
        columns.append(np.tile(np.array([0, 0, 1]), (len(merged), 1)))
    blocks = np.stack(numbered(planes * down * across), axis=1)
    kinds = {"Source": type_name(data.dtype)}
    # With its odd pitch a tile that is two wide takes half as much memory again.
    numbers = {"AXES": max(len(outer), 1), "MOST": square * square * 3 // 2}
    text = "".join(f"constexpr int {name} = {value};\n" for name, value in numbers.items())
    unit = _TILES.unit({**kinds, "Target": kinds["Source"]}, text)
    table = np.concatenate(columns, axis=1)
    return Launch(unit, len(blocks), (data, OutputArg(result), table, blocks))


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
