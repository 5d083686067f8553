"""The shapes that `reshape` and `reinterpret` ask for, and the layouts they leave."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.views import view_of
from gradiva.eager.support.layouts import as_layout

_LARGEST = float(1 << 42)


def reshaped_type(
    input: op.SampleType,
    given: op.SampleType | None,
    shape: Any,
    rel_shape: Any,
    src_dims: Any,
    layout: str | None,
    dtype: Any = None,
) -> op.SampleType:
    """The type of a reshaped input. Raises OperatorTypeError and OperatorValueError."""
    sizes = [
        name for name, value in (("shape", shape), ("rel_shape", rel_shape)) if value is not None
    ]
    if given is not None:
        sizes.append("a second input")
        if given.dtype is not None and given.dtype.numpy.kind not in "iu":
            raise op.OperatorTypeError(
                "the second input is the shape", expected="integers", got=f"dtype {given.dtype}"
            )
        if given.ndim not in (None, 1):
            raise op.wrong_type(
                "", "1-D samples", f"{given.ndim}-D samples", "the second input is the shape"
            )
    if len(sizes) > 1:
        raise op.OperatorValueError(f"the shape is given twice, by {' and '.join(sizes)}")
    if not sizes and src_dims is None and layout is None and dtype is None:
        raise op.OperatorValueError(
            "there is nothing to do",
            expected="`shape`, `rel_shape`, `src_dims`, `layout` or a second input",
            got="none",
        )
    described = next(
        (value for value in (given, shape, rel_shape, src_dims) if value is not None), None
    )
    if described is None:
        ndim = input.ndim
    elif isinstance(described, op.SampleType | op.Value):
        ndim = None
    else:
        ndim = len(described)
    type = input.with_(ndim=ndim, layout=None)
    if ndim is not None and input.ndim is not None:
        type = type.with_(layout=_layout(input, ndim, layout))
    return type if dtype is None else type.with_(dtype=dtype)


def _layout(input: op.SampleType, ndim: int, layout: str | None) -> str | None:
    """The layout asked for; else that of the input, if it has as many letters as axes."""
    if layout is None:
        return input.layout if input.ndim == ndim else ""
    try:
        return as_layout(layout, ndim)
    except ValueError as error:
        raise op.wrong_value(
            "layout", f"one letter per axis, {ndim} in all", repr(layout)
        ) from error


def wanted_shapes(call: op.Call) -> op.Int64Array:
    """The shape rule: completed shapes, which hold the bytes of the samples exactly."""
    source = call.inputs[0]
    old = source.dtype.itemsize
    assert call.types[0].dtype is not None
    new = call.types[0].dtype.itemsize
    shapes = _asked(call, source.batch_shape.shapes, old, new)
    ndim = shapes.shape[1]
    call.types = (
        call.types[0].with_(ndim=ndim, layout=_layout(source.type, ndim, call["layout"])),
    )
    volumes = source.batch_shape.volumes * old
    free = shapes < 0
    _refuse(free.sum(axis=1) > 1, shapes, "at most one negative extent, to be completed", source)
    rest = np.where(free, 1, shapes).astype(np.float64).prod(axis=1) * new
    _refuse(rest > _LARGEST * 8, shapes, "as many elements as before", source)
    bytes_each = np.where(free, 1, shapes).prod(axis=1) * new
    completes = free.any(axis=1)
    possible = np.where(
        completes,
        (bytes_each > 0) & (volumes % np.maximum(bytes_each, 1) == 0),
        volumes == bytes_each,
    )
    what = "elements" if old == new else f"bytes, in elements of {new},"
    _refuse(~possible, shapes, f"a shape for as many {what} as before", source)
    found: op.Int64Array = np.where(free, (volumes // np.maximum(bytes_each, 1))[:, None], shapes)
    return found


def _refuse(bad: Any, shapes: op.Int64Array, expected: str, source: op.Batch) -> None:
    op.refuse_samples(
        bad,
        "shape",
        expected,
        lambda sample: (
            f"{tuple(shapes[sample].tolist())}, for samples of shape "
            f"{source.batch_shape.shape(sample)} and dtype {source.dtype}"
        ),
    )


def _asked(call: op.Call, extents: op.Int64Array, old: int, new: int) -> op.Int64Array:
    """The shapes as asked for, with -1 for the extent that is to be completed."""
    asked = None
    if len(call.inputs) > 1:
        given = call.inputs[1]
        if not given.batch_shape.uniform:
            raise op.OperatorValueError(
                "the second input is the shape: all samples must get one number of axes",
                got=f"the shapes {given.shape[:4]}",
            )
        asked = given.as_array()
        asked = asked.reshape(call.size, math.prod(asked.shape[1:]))
        if asked.dtype == np.uint64:
            asked = np.minimum(asked, np.uint64(1 << 62))
        asked = asked.astype(np.int64)
    elif call["shape"] is not None:
        asked = call["shape"]
    if asked is not None:
        return np.where(asked < 0, -1, asked)
    base = _chosen(call, extents)
    if call["rel_shape"] is not None:
        return _scaled(call["rel_shape"], base, call["src_dims"] is not None)
    if old == new:
        return base
    if not base.shape[1]:
        raise op.OperatorValueError(
            "a scalar has no axis that could grow or shrink with the dtype",
            argument="dtype",
            expected=f"a dtype of {old} bytes, or `shape`",
            got=f"one of {new} bytes",
        )
    last = base[:, -1] * old
    op.refuse_samples(
        last % new,
        "dtype",
        f"a multiple of {new} bytes",
        lambda sample: f"{int(last[sample])} bytes",
        "the last axis does not divide into elements of the dtype",
    )
    return np.concatenate([base[:, :-1], (last // new)[:, None]], axis=1)


def _chosen(call: op.Call, extents: op.Int64Array) -> op.Int64Array:
    """The extents of the axes in `src_dims`, 1 where it says -1; all of them without it."""
    dims = call["src_dims"]
    if dims is None:
        return extents
    bad = (dims < -1) | (dims >= extents.shape[1])
    op.refuse_samples(
        bad.any(axis=1), "src_dims", f"axes from 0 to {extents.shape[1] - 1}, or -1", dims
    )
    padded = np.concatenate([extents, np.ones((len(extents), 1), np.int64)], axis=1)
    return np.take_along_axis(padded, dims % padded.shape[1], axis=1)


def _scaled(factors: Any, base: op.Int64Array, chosen: bool) -> op.Int64Array:
    """`base` times `rel_shape`, rounded half up; negative factors ask for completion."""
    count, known = factors.shape[1], base.shape[1]
    if chosen and count != known:
        raise op.wrong_value("rel_shape", f"{known} factors, as many as `src_dims`", count)
    if count > known:
        if (factors[:, known:] >= 0).any():
            raise op.wrong_value(
                "rel_shape", f"at most {known} factors, and -1 for further axes", count
            )
        base = np.pad(base, ((0, 0), (0, count - known)), constant_values=1)
    products = factors.astype(np.float64) * base[:, :count]
    bad = ~(products < _LARGEST)
    op.refuse_samples(bad.any(axis=1), "rel_shape", "finite factors", factors)
    found: op.Int64Array = np.where(
        factors < 0, -1, np.floor(np.maximum(products, 0) + 0.5)
    ).astype(np.int64)
    return found


def reshaped_view(call: op.Call) -> op.Batch:
    """The output: the bytes of the input under the new shapes."""
    return view_of(call.inputs[0], call.types[0], call.batch_shapes[0])
