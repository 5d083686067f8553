"""Launches that gather: windows, mirroring and fill values, for operators that move elements."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.cuda.launch import CudaKernel, Launch, OutputArg, blocks_of, type_name
from gradiva.eager.values.batch import Batch

__all__ = ["AXES", "copy_launch", "gather_table", "inner_steps", "table_launch"]

Int64s = NDArray[np.int64]

AXES: Final = 5
_COPY: Final = CudaKernel("copy", ("gather.cuh", "copy.cuh"))


def inner_steps(extents: Int64s) -> Int64s:
    """(N, 5): elements from one coordinate to the next, for samples of these extents, (N, 5)."""
    steps = np.ones_like(extents)
    for axis in range(AXES - 2, -1, -1):
        steps[:, axis] = steps[:, axis + 1] * extents[:, axis + 1]
    return steps


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
    blocks = blocks_of(target.geometry.volumes)
    counts = np.int64(fill.shape[1]), np.int64(axis)
    return Launch(
        unit,
        len(blocks),
        (data, OutputArg(result), table, blocks, np.ascontiguousarray(fill), *counts),
    )


def table_launch(rows: NDArray[Any], target: Batch) -> Launch:
    """The launch that writes what the host knows, (N, values), into an output of such samples."""
    values = np.ascontiguousarray(rows, target.data.dtype).reshape(-1)
    extents = np.ones((len(rows), AXES), np.int64)
    extents[:, -1] = target.geometry.volumes
    first = np.arange(len(rows), dtype=np.int64) * rows.shape[1]
    table = gather_table(
        first,
        target.geometry.offsets,
        extents,
        inner_steps(extents),
        np.zeros_like(extents),
        extents,
    )
    return copy_launch(Batch(values, target.geometry, target.type), target, table)
