"""Small matrices along an axis of spectra: sums of products, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array, I64Vector

_LANES: Final = 256
_DOTS: Final = 4


@dataclass(frozen=True)
class BandMatrix:
    """A matrix whose rows are zero but for one run of values: (rows, columns).

    begins: where the run of each row begins; offsets: where it is in `weights`, which hold all
    runs, one after another; one offset more than there are rows.
    """

    columns: int
    begins: op.Int64Array
    offsets: op.Int64Array
    weights: Float32Array

    @staticmethod
    def of(matrix: Array) -> BandMatrix:
        """The matrix from all of its values, which are rounded to float32."""
        values = matrix.astype(np.float32)
        used = np.pad(values != 0, ((0, 0), (0, 1)))  # argmax needs a column
        begins = np.where(used.any(axis=1), used.argmax(axis=1), 0)
        ends = np.where(used.any(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1), 0)
        runs = [row[a:b] for row, a, b in zip(values, begins, ends, strict=True)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - begins)])
        weights = np.concatenate(runs) if runs else np.zeros(0, np.float32)
        return BandMatrix(values.shape[1], begins.astype(np.int64), offsets, weights)

    def apply(self, source: Array, target: Array, outer: int, inner: int) -> None:
        """Multiply by each column of `source`, (outer, columns, inner), into `target`, (outer,
        rows, inner); both are flat."""
        if inner == 1:
            _dots(source, target, outer, self.columns, self.begins, self.offsets, self.weights)
        else:
            shape = outer, self.columns, inner
            _mix_rows(source, target, shape, self.begins, self.offsets, self.weights)


@op.jit
def _mix_rows(
    source: F32Vector,
    target: F32Vector,
    shape: tuple[int, int, int],
    begins: I64Vector,
    offsets: I64Vector,
    weights: F32Vector,
) -> None:
    """Multiply a banded matrix with each block (columns, inner), sums in float64.

    shape: blocks, columns, inner; begins: of each row of the matrix, the first column that counts;
    offsets: where its weights begin; the results are blocks (rows, inner).
    source: float32, (blocks, columns, inner), flat; offsets: (rows + 1,), in elements of `weights`;
    begins: (rows,), in columns; shape: in elements.
    """
    outer, columns, inner = shape
    rows = begins.size
    lanes = np.empty(min(inner, _LANES), np.float64)
    for block in range(outer):
        for first in range(0, inner, _LANES):
            count = min(_LANES, inner - first)
            for row in range(rows):
                lanes[:count] = 0.0
                at = (block * columns + begins[row]) * inner + first
                for k in range(offsets[row], offsets[row + 1]):
                    weight = np.float64(weights[k])
                    values = source[at : at + count]
                    for j in range(count):
                        lanes[j] += weight * np.float64(values[j])
                    at += inner
                to = (block * rows + row) * inner + first
                out = target[to : to + count]
                for j in range(count):
                    out[j] = np.float32(lanes[j])


@op.jit
def _dots(
    source: F32Vector,
    target: F32Vector,
    outer: int,
    columns: int,
    begins: I64Vector,
    offsets: I64Vector,
    weights: F32Vector,
) -> None:
    """Multiply a banded matrix with vectors that lie one after the other: several partial sums in
    float64 for each result.

    outer: the number of vectors; columns: the length of each; begins, offsets, weights: as in
    `_mix_rows`.
    source: (outer, columns), flat; target: (outer, rows), flat; lengths in elements.
    """
    rows = begins.size
    sums = np.empty(_DOTS, np.float64)
    for block in range(outer):
        for row in range(rows):
            first, count = offsets[row], offsets[row + 1] - offsets[row]
            values = source[block * columns + begins[row] : (block + 1) * columns]
            own = weights[first : first + count]
            sums[:] = 0.0
            whole = count - count % _DOTS
            for k in range(0, whole, _DOTS):
                for j in range(_DOTS):
                    sums[j] += np.float64(own[k + j]) * np.float64(values[k + j])
            for k in range(whole, count):
                sums[k - whole] += np.float64(own[k]) * np.float64(values[k])
            target[block * rows + row] = np.float32((sums[0] + sums[1]) + (sums[2] + sums[3]))


_KERNEL: Final = op.CudaKernel("matrices", (Path(__file__).with_suffix(".cuh"),), registers=72)


def launch_along_axis(call: op.Call, axis: int, matrices: list[BandMatrix]) -> op.Launch:
    """`along_axis` on a GPU."""
    data, before, result, after = call.slabs
    source, made = call.inputs[0].batch_shape.shapes, call.outputs[0].batch_shape
    different = list(dict.fromkeys(map(id, matrices)))
    by_id = {id(matrix): matrix for matrix in matrices}
    parts = [by_id[one] for one in different]
    # Of each, one place more than there are rows.
    begins = [np.append(part.begins, 0) for part in parts]
    numbers = np.array([different.index(id(matrix)) for matrix in matrices], np.int64)
    rows_at = np.cumsum([0, *(len(one) for one in begins)])[numbers]
    weights_at = np.cumsum([0, *(len(part.weights) for part in parts)])[numbers]
    inner = source[:, axis + 1 :].prod(axis=1)
    narrow = made.volumes, made.shapes[:, axis], source[:, axis], inner
    table = op.struct_rows([before, after, rows_at, weights_at], list(narrow))
    empty = np.zeros(1, np.int64)
    tables = (
        np.concatenate([*begins, empty]),
        np.concatenate([*(part.offsets for part in parts), empty]),
        np.concatenate([*(part.weights for part in parts), np.zeros(1, np.float32)]),
    )
    return op.launch_over(_KERNEL.unit({}), data, result, table, made.volumes, *tables)


def along_axis(call: op.Call, axis: int, matrices: list[BandMatrix]) -> None:
    """Multiply each sample along an axis by its matrix, from the first input to the output."""
    source, target = call.inputs[0], call.outputs[0]
    shapes = source.batch_shape.shapes

    def compute(sample: int) -> None:
        outer = int(shapes[sample, :axis].prod())
        inner = int(shapes[sample, axis + 1 :].prod())
        values, out = source.array(sample).reshape(-1), target.array(sample).reshape(-1)
        matrices[sample].apply(values, out, outer, inner)

    call.each_sample(compute, source.batch_shape.volumes.tolist())
