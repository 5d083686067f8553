"""Samples full of zeros or of ones: `zeros`, `ones`, `zeros_like` and `ones_like`."""

from __future__ import annotations

from functools import partial

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import fill_launch
from gradiva.eager.simd.streaming import fill_nontemporal, use_nontemporal
from gradiva.eager.types.arrays import Number, Vector

from .filling import filled_shapes, filled_type


@op.maker("zeros", schema="Zeros")
def zeros(
    *,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike = op.int32,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make samples full of zeros.

    Args:
        shape: the shape of a sample; a scalar by default. May differ per sample.
        dtype: any, int32 by default.
        layout: the layout of the samples; none by default.

    Returns:
        Samples of zeros.

    Raises:
        OperatorValueError: for negative extents and for a layout with another number of letters.

    Example:
        gradiva.zeros(shape=(2, 3), dtype="float32")  # [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        gradiva.zeros(shape=3, batch_size=2)  # [[0, 0, 0], [0, 0, 0]]
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # converted by the engine
    return filled_type(chosen, shape, layout)


@op.maker("ones", schema="Ones")
def ones(
    *,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike = op.int32,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make samples full of ones.

    Args:
        shape: the shape of a sample; a scalar by default. May differ per sample.
        dtype: any, int32 by default.
        layout: the layout of the samples; none by default.

    Returns:
        Samples of ones.

    Raises:
        OperatorValueError: for negative extents and for a layout with another number of letters.

    Example:
        gradiva.ones(shape=(2, 3), dtype="float32")  # [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        gradiva.ones(shape=3, batch_size=2)  # [[1, 1, 1], [1, 1, 1]]
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # converted by the engine
    return filled_type(chosen, shape, layout)


@op.operator("zeros_like", schema="ZerosLike", bfloat16=True, same_shapes=True)
def zeros_like(
    like: op.SampleType, /, *, dtype: op.DTypeLike | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Make samples full of zeros, with the shapes and the layout of `like`.

    Args:
        like: any dtype, rank and layout.
        dtype: the element type of the result; that of `like` by default.

    Returns:
        Samples of zeros.

    Raises:
        OperatorTypeError: for a value that is not a dtype.
        OperatorValueError: for a string that names no dtype.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.zeros_like(image, dtype="float32").shape  # (300, 451, 3)
    """
    chosen: op.DType | None = dtype  # type: ignore[assignment]  # converted by the engine
    return like if chosen is None else like.with_(dtype=chosen)


@op.operator("ones_like", schema="OnesLike", bfloat16=True, same_shapes=True)
def ones_like(
    like: op.SampleType, /, *, dtype: op.DTypeLike | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Make samples full of ones, with the shapes and the layout of `like`.

    Args:
        like: any dtype, rank and layout.
        dtype: the element type of the result; that of `like` by default.

    Returns:
        Samples of ones.

    Raises:
        OperatorTypeError: for a value that is not a dtype.
        OperatorValueError: for a string that names no dtype.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.ones_like(image, dtype="float32").shape  # (300, 451, 3)
    """
    chosen: op.DType | None = dtype  # type: ignore[assignment]  # converted by the engine
    return like if chosen is None else like.with_(dtype=chosen)


@op.jit
def _fill_past(target: Vector, volume: int, value: Number, begin: int, end: int) -> None:
    """Fill samples of `volume` elements each, with stores that go past the caches; begin, end: the
    range of samples."""
    fill_nontemporal(target, begin * volume, (end - begin) * volume, value)


def _fill(call: op.Call, value: int) -> None:
    """Fill the output with one number."""
    target = call.outputs[0]
    if target.batch_shape.dense and use_nontemporal(target.data):
        unsigned = f"u{target.dtype.itemsize}"
        bits = np.array([value]).astype(target.data.dtype).view(unsigned)[0]
        volume = target.batch_shape.size // call.size
        call.for_samples(_fill_past, target.data.view(unsigned), volume, bits)
        return

    def fill(begin: int, end: int) -> None:
        if target.batch_shape.dense:
            target.as_array()[begin:end] = value
            return
        for sample in range(begin, end):
            target.array(sample)[...] = value

    call.for_samples(fill)


def _launch(call: op.Call, value: int) -> op.Launch:
    """The launch that does what `_fill` does."""
    target = call.outputs[0]
    number: np.generic = np.array([value]).astype(target.data.dtype)[0]
    return fill_launch(target.data, target.batch_shape.offsets, target.batch_shape.volumes, number)


def _cases_of_shapes(value: int) -> list[op.Case]:
    shapes = np.array([[2, 3], [40, 1], [0, 2]], np.int32)
    return [
        op.case("scalars", batch_size=3).equals([np.full((), value, np.int32)] * 3),
        op.case("images", batch_size=2, shape=[4, 5, 3], dtype=op.uint8, layout="HWC").equals(
            [np.full((4, 5, 3), value, np.uint8)] * 2
        ),
        op.case("per sample", batch_size=3, shape=shapes, dtype=op.float16).equals(
            [np.full(tuple(shape), value, np.float16) for shape in shapes]
        ),
        op.case("bool", batch_size=1, shape=3, dtype=op.bool_).equals(
            [np.full(3, value, np.bool_)]
        ),
        op.case("one", shape=[2, 2], batch_size=1).equals([np.full((2, 2), value, np.int32)]),
        op.case("empty", batch_size=0, shape=[2]).equals([]),
        op.case("negative", batch_size=2, shape=[2, -1]).value_error("`shape`"),
        op.case("letters", batch_size=2, shape=[2], layout="HW").value_error("`layout`"),
        op.case("dtype", batch_size=2, dtype=complex).type_error("`dtype`"),
    ]


def _cases_like(value: int) -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 0, 3))
    plain = op.samples((2, 3), (2, 3), dtype=op.float16, layout="")
    scalars = op.samples((), (), layout="")
    return [
        op.case("ragged", images).each(lambda image: np.full_like(image, value)),
        op.case("uniform", plain).equals([np.full((2, 3), value, np.float16)] * 2),
        op.case("other dtype", images, dtype=op.float32).each(
            lambda image: np.full(image.shape, value, np.float32)
        ),
        op.case("bool", plain, dtype=op.bool_).equals([np.full((2, 3), value, np.bool_)] * 2),
        op.case("scalars", scalars).equals([np.full((), value, np.uint8)] * 2),
        op.case("empty", op.samples()).equals([]),
        op.case("dtype", images, dtype=complex).type_error("`dtype`"),
    ]


for _value, _made, _like in ((0, zeros, zeros_like), (1, ones, ones_like)):
    _made.shapes(filled_shapes)
    _made.cases(partial(_cases_of_shapes, _value))
    _like.cases(partial(_cases_like, _value))
    for _operator in (_made, _like):
        _operator.cpu(partial(_fill, value=_value))
        _operator.gpu(partial(_launch, value=_value))
