"""Reductions on a GPU, in the order of sums that the CPU kernel has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import THREADS

from .cpu import DEVIATIONS, LANES
from .reduce import axes_of, fitting_means, groups, planned_sums

Centers = tuple[Any, op.Int64Array, op.Int64Array]
"""As in `reduce`, with numbers of any dtype, or in `Scratch`."""

_STEPS: Final = 64
"""So many rows side by side one task takes, if the order does not matter."""
_FEW: Final = 16
"""As in cpu.py."""
_NAMES: Final = (
    "constexpr int SUM = 0, SQUARES = 1, DEVIATIONS = 2, MINIMUM = 3, MAXIMUM = 4;\n"
    "constexpr int PLAIN = 0, MEAN = 1, ROOT = 2;\n"
)
_FOLDER: Final = Path(__file__).parent
_REDUCE: Final = op.CudaKernel("reduce", (None, _FOLDER / "reduce.cuh"))
_JOIN: Final = op.CudaKernel("join", (None, _FOLDER / "reduce.cuh", _FOLDER / "join.cuh"))


def call_launches(call: op.Call, kind: int, ending: int) -> list[op.Launch]:
    """The GPU kernel of an operator with one input, or with means as its second one."""
    target = call.outputs[0]
    centers, ddof = None, 0
    if kind == DEVIATIONS:
        centers, ddof = (call.inputs[1].data, *fitting_means(call)), call["ddof"]
    return reduction_launches(
        call.inputs[0], kind, ending, axes_of(call), target.data, target.batch_shape, centers, ddof
    )


def reduction_launches(
    source: op.Batch,
    kind: int,
    ending: int,
    taken: tuple[int, ...],
    result: Any,
    places: op.BatchShape,
    centers: Centers | None = None,
    ddof: int = 0,
) -> list[op.Launch]:
    """What `reduce_batch` does. result: an array, or `Scratch`."""
    data = source.data.view("u1") if source.data.dtype == bool else source.data
    count = len(source)
    value = np.dtype(np.float32) if data.dtype == np.float16 else data.dtype
    kind, start, lanes = planned_sums(kind, ending, value)
    if centers is None or kind != DEVIATIONS:
        nowhere = np.zeros(count, np.int64)
        centers = (np.zeros(1), nowhere, np.ones(count, np.int64))
    extents = groups(source.batch_shape.shapes, taken)
    table, teams = _table(source, places, extents, start.dtype.kind in "iu", ddof)
    table[:, 3], table[:, 4] = centers[1], centers[2] != 1
    direct = extents.shape[1] == 3 and bool((table[:, 8] == 1).all())
    if not direct:
        table[table[:, 13] == 0, 11] = 0  # no tasks where nothing is reduced
    made = result if direct else op.Scratch(int(_ends(table)[-1]) if count else 0, start.dtype)
    types = {
        "Source": op.type_name(data.dtype),
        "Center": op.type_name(centers[0].dtype),
        "Lane": op.type_name(lanes),
        "Total": op.type_name(start.dtype),
    }
    generated = (
        f"{_NAMES}constexpr int KIND = {kind}, ENDING = {ending};\n"
        f"constexpr int PAIRS = {extents.shape[1] // 2};\n"
        f"constexpr bool DIRECT = {'true' if direct else 'false'};\n"
    )
    blocks = op.blocks_of(table[:, 11], teams)
    unit = _REDUCE.unit({**types, "Made": op.type_name(made.dtype)}, generated)
    given = (data, op.OutputArg(made), table, blocks.table, centers[0], start[0], start[1])
    launches = [op.Launch(unit, blocks.total, given)]
    if not direct:
        blocks = op.blocks_of(table[:, 12])
        unit = _JOIN.unit({**types, "Made": op.type_name(result.dtype)}, generated)
        totals = (made, op.OutputArg(result), table, blocks.table, start[0], start[1])
        launches.append(op.Launch(unit, blocks.total, totals))
    return launches


def _table(
    source: op.Batch, places: op.BatchShape, extents: op.Int64Array, exact: bool, ddof: int
) -> tuple[op.Int64Array, op.Int64Array]:
    """The struct `Reduction` of reduce.cuh, but for its centers, and teams of a block of threads.

    exact: whether rows may be split.
    """
    pairs = extents.shape[1] // 2
    outer = extents[:, : 2 * pairs - 1].prod(axis=1)
    rows, columns = extents[:, 2 * pairs - 1], extents[:, 2 * pairs]
    chunk = np.clip(columns, 1, LANES)
    # The largest power of two that keeps the rows and the lanes: few rows of one column have none.
    fitting = np.maximum(np.minimum(rows, LANES // chunk), 1)
    doublings = np.floor(np.log2(fitting)).astype(np.int64)
    doublings[(pairs == 1) & (columns == 1) & (rows <= _FEW)] = 0
    side = 1 << doublings
    split_rows = np.minimum(side * _STEPS, np.maximum(rows, 1)) if exact else rows
    splits = np.maximum(-(-rows // np.maximum(split_rows, 1)), 1)
    chunks = np.maximum(-(-columns // LANES), 1)
    reduced = extents[:, 1::2].prod(axis=1)
    table = np.empty((len(source), 15 + extents.shape[1]), np.int64)
    table[:, 0], table[:, 2] = source.batch_shape.offsets, places.offsets
    table[:, 5], table[:, 6], table[:, 7], table[:, 8] = rows, columns, chunks, splits
    table[:, 9], table[:, 10] = split_rows, doublings
    table[:, 11] = np.where(columns > 0, outer * splits * chunks, 0)
    table[:, 12], table[:, 13], table[:, 14] = extents[:, ::2].prod(axis=1), reduced, reduced - ddof
    table[:, 15:] = extents
    sizes = outer * splits * columns
    table[:, 1] = sizes.cumsum() - sizes
    return table, THREADS // (side * chunk)


def _ends(table: op.Int64Array) -> op.Int64Array:
    """Where the totals of each sample end."""
    ends: op.Int64Array = table[:, 1] + table[:, 15:-2].prod(axis=1) * table[:, 8] * table[:, 6]
    return ends
