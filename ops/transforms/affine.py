"""What the operators on affine transforms share.

A transform of points with n coordinates is a float32 matrix (n, n + 1), [M T]: it takes a point p
to M p + T. A sequence of transforms has the frames as its first axis, "F" in its layout.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Volume, Float32Array

MOST_AXES: Final = 6


def transform_type(input: Any) -> op.SampleType:
    """The type of the result, for an input transform or None. Raises OperatorTypeError."""
    if not isinstance(input, op.SampleType):
        return op.SampleType(op.float32, 2, "")
    op.require_dtype(input, (op.float32,), "the input transform")
    if input.ndim == 2:
        return input.with_(dtype=op.float32, layout="")
    if input.ndim is None or input.layout is None:
        return input.with_(dtype=op.float32, layout=None)
    if input.ndim != 3 or not input.layout.startswith("F"):
        raise op.OperatorTypeError(
            "the input is no affine transform",
            expected="2-D samples (n, n + 1), or 3-D ones with a layout that begins with F",
            got=f"{input.ndim}-D samples, layout {input.layout!r}",
        )
    return input.with_(dtype=op.float32)


def axes_of(call: op.Call, number: int = 0) -> int | None:
    """How many coordinates the transforms of an input have; None without samples or that input.

    Raises OperatorValueError for what is no transform, and for samples that differ.
    """
    if len(call.inputs) <= number or not call.size:
        return None
    batch_shape = call.inputs[number].batch_shape
    shapes = batch_shape.shapes[:, -2:]
    if batch_shape.uniform:
        rows, columns = shapes[0].tolist()
        if columns == rows + 1 and 1 <= rows <= MOST_AXES:
            return int(rows)
    bad = (shapes[:, 1] != shapes[:, 0] + 1) | (shapes != shapes[0]).any(axis=1)
    bad |= (shapes[:, 0] < 1) | (shapes[:, 0] > MOST_AXES)
    op.refuse_samples(
        bad,
        "",
        f"matrices (n, n + 1) with one n from 1 to {MOST_AXES}",
        call.inputs[number].batch_shape.shape,
        f"input {number} is no affine transform, or one of other axes than sample 0",
    )
    return int(shapes[0, 0])


def made(call: op.Call, axes: int | None, argument: str) -> op.BatchShape:
    """The shapes of the results, where `argument` says how many coordinates there are (None: what
    the input says). Raises OperatorValueError."""
    if not call.size:
        # Values per sample of no samples do not tell how many numbers each of them has.
        return call.inputs[0].batch_shape if call.inputs else op.BatchShape.equal(0, (1, 2))
    given = axes_of(call)
    if axes is not None and not 1 <= axes <= MOST_AXES:
        raise op.wrong_value(argument, f"1 to {MOST_AXES} axes", axes)
    if axes is not None and given is not None and axes != given:
        raise op.OperatorValueError(
            "the input and the arguments are about other numbers of axes",
            argument=argument,
            expected=f"{given} axes, as the input",
            got=str(axes),
        )
    if call.inputs:
        return call.inputs[0].batch_shape
    count = axes or 1
    return op.BatchShape.equal(call.size, (count, count + 1))


def vector(call: op.Call, name: str, axes: int, fewest: int = 1) -> Float32Array | None:
    """An argument with a number for each axis, (N, axes); one number is repeated. None if it was
    not given. Raises OperatorValueError."""
    rows = call[name]
    if rows is None:
        return None
    if len(rows) and rows.shape[1] not in (fewest, axes):
        raise op.wrong_value(name, f"{axes} numbers, one per axis", rows.shape[1])
    if not len(rows):
        return np.zeros((0, axes), np.float32)  # of whatever width
    given: Float32Array = rows
    return given if given.shape[1] == axes else np.broadcast_to(given, (len(given), axes))


@op.jit
def _multiply(outer: F32Volume, inner: F32Volume, total: F32Volume) -> None:
    """`product` of as many transforms on both sides."""
    axes = outer.shape[1]
    for i in range(len(outer)):
        for row in range(axes):
            for column in range(axes + 1):
                value = np.float32(0.0)
                for k in range(axes):
                    value += outer[i, row, k] * inner[i, k, column]
                if column == axes:
                    value += outer[i, row, axes]
                total[i, row, column] = value


def product(outer: Float32Array, inner: Float32Array) -> Float32Array:
    """The transform that applies `inner`, then `outer`, (..., n, n + 1); sums in float32 in the
    order of the axes, as DALI does."""
    axes = outer.shape[-2]
    if outer.ndim == 3 and outer.shape == inner.shape:
        whole = np.empty(outer.shape, np.float32)
        _multiply(outer, inner, whole)
        return whole
    total = np.zeros(np.broadcast_shapes(outer.shape, inner.shape), np.float32)
    with np.errstate(all="ignore"):
        for k in range(axes):
            total += outer[..., :, k, None] * inner[..., None, k, :]
        total[..., axes] += outer[..., :, axes]
    return total


def matrix_product(left: Float32Array, right: Float32Array) -> Float32Array:
    """Products of square matrices, (..., n, n); sums in float32 in the order of the axes."""
    total = np.zeros(np.broadcast_shapes(left.shape, right.shape), np.float32)
    with np.errstate(all="ignore"):
        for k in range(left.shape[-1]):
            total += left[..., :, k, None] * right[..., None, k, :]
    return total


def about(linear: Float32Array, center: Float32Array | None) -> Float32Array:
    """The transforms (N, n, n + 1) with these linear parts (N, n, n) that leave `center` where
    it is (the origin, if None)."""
    count, axes = linear.shape[:2]
    result = np.zeros((count, axes, axes + 1), np.float32)
    result[:, :, :axes] = linear
    if center is not None:
        moved = np.zeros((count, axes), np.float32)
        with np.errstate(all="ignore"):
            for k in range(axes):
                moved += linear[:, :, k] * center[:, k, None]
            result[:, :, axes] = center - moved
    return result


def radians(degrees: Float32Array) -> NDArray[np.float64]:
    """Degrees in radians, rounded to float32 as DALI does; float64 of that value."""
    single: Float32Array = degrees * np.float32(np.pi / 180)
    return single.astype(np.float64)


def turned(
    angle: Float32Array, axis: Float32Array | None, dtype: type = np.float32
) -> NDArray[Any]:
    """The linear parts of rotations by `angle` degrees, (N, 2, 2), or (N, 3, 3) around `axis`."""
    with np.errstate(invalid="ignore"):
        cosine, sine = np.cos(radians(angle)), np.sin(radians(angle))
    if axis is None:
        plane: NDArray[Any] = np.array([[cosine, -sine], [sine, cosine]], dtype)
        return np.ascontiguousarray(plane.transpose(2, 0, 1))
    wide = axis.astype(np.float64)
    x, y, z = (wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True))).T
    rest = 1.0 - cosine
    space: NDArray[Any] = np.array(
        [
            [cosine + rest * x * x, rest * x * y - sine * z, rest * x * z + sine * y],
            [rest * y * x + sine * z, cosine + rest * y * y, rest * y * z - sine * x],
            [rest * z * x - sine * y, rest * z * y + sine * x, cosine + rest * z * z],
        ],
        dtype,
    )
    return np.ascontiguousarray(space.transpose(2, 0, 1))


def apply(call: op.Call, own: Float32Array) -> None:
    """Fill the output with `own` transforms (N, n, n + 1), put after those of the input if there
    are any, or before them with `reverse_order`."""
    target = call.outputs[0]
    if not call.inputs:
        target.as_array()[...] = own
        return
    source, before = call.inputs[0], call["reverse_order"]
    if source.batch_shape.uniform:
        given, total = source.as_array(), target.as_array()
        if given.shape == own.shape:
            outer, inner = (given, own) if before else (own, given)
            _multiply(outer, inner, total)
            return
        own = own if given.ndim == 3 else own[:, None]
        total[...] = product(given, own) if before else product(own, given)
        return
    for index in range(call.size):
        given = source.array(index)
        part = own[index]
        target.array(index)[...] = product(given, part) if before else product(part, given)
