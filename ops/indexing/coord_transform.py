"""`coord_transform`: a linear map of vectors, and a shift."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import MatrixArg
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Volume, Float32Array, I64Vector, Slabs

_DTYPES: Final = (op.uint8, op.uint16, op.int16, op.int32, op.float32, op.int8)


@op.operator("coord_transform", schema="CoordTransform", frames=("M", "MT", "T"))
def coord_transform(
    input: op.SampleType,
    /,
    *,
    M: MatrixArg | None = None,  # noqa: N803
    MT: MatrixArg | None = None,  # noqa: N803
    T: op.FloatsArg | None = None,  # noqa: N803
    dtype: op.DTypeLike = op.float32,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Apply an affine transform to points: each vector v becomes M v + T.

    Vectors lie along the last axis. Sums are float32, in the order of the axes, T last.

    Args:
        input: int8, uint8, int16, uint16, int32 or float32, of two axes or more, any layout;
            vectors of n numbers.
        M: m * n numbers, row by row, or one that stands for a diagonal; the identity by default.
        T: m numbers or one for all; 0 by default.
        MT: instead of both, m * (n + 1) numbers, [M T], or one for a diagonal. All may differ per
            sample, then as matrices or lists of equal lengths.
        dtype: the element type of the output: float32 (default), or the input's, then rounded half
            away from zero and saturated.

    Returns:
        Samples whose last axis has m values.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for shapes that do not fit together.

    Example:
        points = np.float32([[1, 0], [0, 1]])  # x, y
        gradiva.coord_transform(points, M=[2, 0, 0, 3], T=[10, 20])
        # [[12.0, 20.0], [10.0, 23.0]]
    """
    op.require_dtype(input, _DTYPES)
    result = own_or_float32(input, dtype)
    if input.ndim is not None and input.ndim < 2:
        raise op.OperatorTypeError(
            "vectors lie along the last axis of two or more", got=f"{input.ndim}-D samples"
        )
    if MT is not None and (M is not None or T is not None):
        raise op.OperatorValueError("`MT` excludes `M` and `T`")
    return result


def _matrix(rows: Float32Array, name: str, columns: int) -> Float32Array:
    """An argument as matrices (N, m, columns). Raises OperatorValueError."""
    count = rows[0].size if len(rows) else columns
    fits = rows.shape[2] == columns if rows.ndim == 3 else count % columns == 0
    if not fits or not count:
        raise op.wrong_value(
            name,
            f"rows of {columns} numbers, for vectors of {columns - (name == 'MT')}",
            f"shape {rows.shape[1:]}",
        )
    return rows.reshape(len(rows), count // columns, columns)


def _map(call: op.Call) -> Float32Array:
    """[M T] for each sample, (N, m, n + 1)."""
    shapes = call.inputs[0].batch_shape.shapes
    if not call.size:
        return np.zeros((0, 1, 1), np.float32)
    size = int(shapes[0, -1])
    op.refuse_samples(
        shapes[:, -1] != size,
        "",
        f"{size} numbers",
        lambda sample: str(shapes[sample, -1]),
        "all samples have vectors of one length",
    )
    whole, linear, shift = call["MT"], call["M"], call["T"]
    name, given = ("M", linear) if whole is None else ("MT", whole)
    if given is None or given[0].size == 1:
        factor = np.ones((call.size, 1), np.float32) if given is None else given.reshape(-1, 1)
        matrix = np.zeros((call.size, size, size), np.float32)
        matrix[:, np.arange(size), np.arange(size)] = factor
    elif whole is not None:
        return _matrix(whole, name, size + 1)
    else:
        matrix = _matrix(given, name, size)
    result = np.zeros((call.size, matrix.shape[1], size + 1), np.float32)
    result[:, :, :size] = matrix
    if shift is not None:
        if shift.shape[1] not in (1, matrix.shape[1]):
            raise op.wrong_value("T", f"1 or {matrix.shape[1]} numbers", shift.shape[1])
        result[:, :, size] = shift
    return result


@dataclass(frozen=True)
class TransformPlan(op.Plan):
    """matrices: [M T] for each sample, (N, m, n + 1)."""

    matrices: Float32Array


@coord_transform.shapes
def _shapes(call: op.Call) -> TransformPlan:
    matrices = _map(call)
    shapes = call.inputs[0].batch_shape.shapes.copy()
    shapes[:, -1] = matrices.shape[1]
    return TransformPlan(shapes, matrices)


@op.jit
def transform_points(
    slabs: Slabs, counts: I64Vector, matrices: F32Volume, begin: int, end: int
) -> None:
    """M v + T for the `counts[i]` vectors of each sample."""
    src, src_offsets, dst, dst_offsets = slabs
    rows, size = matrices.shape[1], matrices.shape[2] - 1
    for i in range(begin, end):
        s, d = src_offsets[i], dst_offsets[i]
        if rows == 2 and size == 2:
            # The usual case, in a form that vectorizes.
            matrix = matrices[i]
            source, target = src[s : s + 2 * counts[i]], dst[d : d + 2 * counts[i]]
            for p in range(counts[i]):
                x, y = np.float32(source[2 * p]), np.float32(source[2 * p + 1])
                first = np.float32(0.0) + matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]
                second = np.float32(0.0) + matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]
                target[2 * p] = convert_sat(first, dst)
                target[2 * p + 1] = convert_sat(second, dst)
            continue
        for _ in range(counts[i]):
            for row in range(rows):
                total = np.float32(0.0)
                for k in range(size):
                    total += matrices[i, row, k] * np.float32(src[s + k])
                dst[d + row] = convert_sat(total + matrices[i, row, size], dst)
            s += size
            d += rows


@coord_transform.cpu
def _cpu(call: op.Call, plan: TransformPlan) -> None:
    counts = call.inputs[0].batch_shape.shapes[:, :-1].prod(axis=1)
    call.for_samples(transform_points, call.slabs, counts, plan.matrices)


_KERNEL: Final = op.CudaKernel(
    "coord_transform", (Path(__file__).with_name("coord_transform.cuh"),)
)


@coord_transform.gpu
def _gpu(call: op.Call, plan: TransformPlan) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    matrices, volumes = plan.matrices, target.batch_shape.volumes
    table = np.stack([source.batch_shape.offsets, target.batch_shape.offsets, volumes], axis=1)
    sizes = np.uint32(matrices.shape[1]), np.uint32(matrices.shape[2] - 1)
    kinds = {"Source": op.type_name(source.data.dtype), "Target": op.type_name(target.data.dtype)}
    slabs = source.data, target.data
    return op.launch_over(_KERNEL.unit(kinds), *slabs, table, volumes, matrices, *sizes)


@coord_transform.cases
def _cases() -> list[op.Case]:
    points = op.samples((3, 2), (5, 2), dtype=op.float32, layout="")
    images = op.samples((4, 5, 3), (2, 2, 3))
    arrays = [points.at(i) for i in (0, 1)]
    two = np.array([[1, 0], [0, 1]], np.float32)
    several = np.stack([two, 2 * two])
    sums = [images.at(i).astype(np.int64).sum(axis=-1, keepdims=True) for i in (0, 1)]
    quarter = [np.floor(one / 4 + 0.5) for one in sums]
    return [
        op.case("nothing given", points).equals(arrays),
        op.case("diagonal", points, M=2).equals([2 * array for array in arrays]),
        op.case("swap", points, M=(0, 1, 1, 0)).equals([array[:, ::-1] for array in arrays]),
        op.case("shift", points, T=(1, -2)).each(lambda one: one + np.array([1, -2], np.float32)),
        op.case("both", points, MT=(1, 2, 3, 4, 5, 6)),
        op.case("three of two", points, M=(1, 2, 3, 4, 5, 6), T=1),
        op.case("per sample", points, M=several).equals([arrays[0], 2 * arrays[1]]),
        op.case("colors", images, M=(0.25, 0.25, 0.25), dtype=op.uint8).equals(
            [array.astype(np.uint8) for array in quarter]
        ),
        op.case("empty", op.samples(layout="FA", dtype=op.float32), M=2).no_oracle(),
        op.case("lengths", op.samples((2, 2), (2, 3), layout="")).value_error("sample 1"),
        op.case("no matrix", points, M=(1, 2, 3)).value_error("`M`"),
        op.case("long shift", points, T=(1, 2, 3)).value_error("`T`"),
        op.case("MT and T", points, MT=1, T=1).value_error("excludes"),
        op.case("dtype", points, dtype=op.uint8).type_error("`dtype`"),
        op.case("wide", op.samples((2, 2), layout="", dtype=op.float64)).type_error("dtype"),
    ]
