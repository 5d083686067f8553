"""`one_hot`: class numbers as vectors with one entry per class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.types.arrays import Number, Vector

from .axes import resolve_axis, with_axis

_KERNEL: Final = op.CudaKernel("one_hot", (Path(__file__).with_name("one_hot.cuh"),))


@op.operator("one_hot", schema="OneHot")
def one_hot(
    input: op.SampleType,
    /,
    *,
    axis: int | None = None,
    axis_name: str | None = None,
    dtype: op.DTypeLike = op.float32,
    num_classes: int = 0,
    on_value: float = 1.0,
    off_value: float = 0.0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Turn class numbers into one-hot vectors: `on_value` at the class, `off_value` elsewhere.

    The vectors lie along a new axis.

    Args:
        input: any dtype, rank and layout; fractions are dropped. A number that is no class, such as
            -1, gives `off_value` everywhere.
        axis: where the new axis stands in the result, the end by default; negative numbers count
            from the end of the result. Without it, if each sample of the batch has one element,
            whatever its rank, the results are vectors of `num_classes`.
        axis_name: a letter for the new axis. The result has a layout if the new axis has a letter
            and the input a layout, or if it is a vector.
        dtype: the element type of the result.
        num_classes: length of the new axis.
        on_value, off_value: converted to `dtype`; for integers fractions are dropped, and values
            out of range become the nearest ones.

    Returns:
        Samples with one axis more, of `dtype`.

    Raises:
        OperatorValueError: for a negative number of classes, an axis out of range and a letter that
            does not fit.

    Example:
        labels = gradiva.batch([np.int32(2), np.int32(0)])
        gradiva.one_hot(labels, num_classes=3)  # [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # converted by the engine
    if num_classes < 0:
        raise op.wrong_value("num_classes", "a number from 0 on", num_classes)
    type = input.with_(dtype=chosen)
    if input.ndim is None or (axis is None and input.ndim):
        if axis_name is not None and len(axis_name) != 1:
            raise op.wrong_value("axis_name", "one letter", axis_name)
        return type.with_(ndim=None, layout=None)
    place = resolve_axis(-1 if axis is None else axis, input.ndim + 1)
    return type.with_(ndim=input.ndim + 1, layout=with_axis(input, place, axis_name))


@dataclass(frozen=True)
class OneHotPlan(op.Plan):
    """place: the new axis."""

    place: int


@one_hot.shapes
def _shapes(call: op.Call) -> OneHotPlan:
    """The shapes and the new axis; the layout becomes known."""
    batch_shape, type = call.inputs[0].batch_shape, call.inputs[0].type
    shapes, axis, name = batch_shape.shapes, call["axis"], call["axis_name"]
    if axis is None and (batch_shape.volumes == 1).all() and call.size:
        shapes, type = np.empty((call.size, 0), np.int64), type.with_(ndim=0, layout="")
    ndim = shapes.shape[1] + 1
    place = resolve_axis(-1 if axis is None else axis, ndim)
    call.types = (call.types[0].with_(ndim=ndim, layout=with_axis(type, place, name)),)
    return OneHotPlan(np.insert(shapes, place, call["num_classes"], axis=1), place)


@op.jit
def mark_kernel(
    numbers: NDArray[np.int32], target: Vector, count: int, inner: int, on: Number, off: Number
) -> None:
    """Fill (outer, count, inner) elements, from (outer, inner) class numbers."""
    for outer in range(numbers.size // max(1, inner)):
        part = target[outer * count * inner : (outer + 1) * count * inner]
        part[:] = off
        for k in range(inner):
            number = numbers[outer * inner + k]
            if 0 <= number < count:
                part[number * inner + k] = on


@one_hot.cpu
def _cpu(call: op.Call, plan: OneHotPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    count = call["num_classes"]
    # Bits move whatever they mean: one compiled kernel per element size.
    unsigned = f"u{target.dtype.itemsize}"
    on, off = (_bits(call[name], target.dtype)[0] for name in ("on_value", "off_value"))
    inner = target.batch_shape.shapes[:, plan.place + 1 :].prod(axis=1).tolist()
    slab = target.data.view(unsigned)

    def mark(begin: int, end: int) -> None:
        if source.batch_shape.dense and target.batch_shape.dense:
            volume = source.batch_shape.size // call.size
            numbers = _classes(source.data[begin * volume : end * volume])
            volume *= count
            mark_kernel(numbers, slab[begin * volume : end * volume], count, inner[0], on, off)
            return
        for sample in range(begin, end):
            numbers = _classes(source.array(sample).reshape(-1))
            part = target.array(sample).reshape(-1).view(unsigned)
            mark_kernel(numbers, part, count, inner[sample], on, off)

    if count:
        call.for_samples(mark)


def _classes(values: NDArray[Any]) -> NDArray[np.int32]:
    """Class numbers as int32; what is no number of a class is -1."""
    if values.dtype == np.int32:
        return values
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        inside = (values > -1) & (values < 2.0**31)
        return np.where(inside, values, -1).astype(np.int32)
    if values.dtype.itemsize < 4 or values.dtype.kind == "b":
        return values.astype(np.int32)
    return np.where((values >= 0) & (values < 2**31), values, -1).astype(np.int32)


def _bits(value: float, dtype: op.DType) -> NDArray[Any]:
    """A float32 number in `dtype`, fractions dropped for integers, as unsigned bits."""
    with np.errstate(over="ignore"):
        single = np.array([value], np.float64).astype(np.float32)
    if dtype.is_integer:
        single = np.trunc(single)
    return convert_array(single, dtype.numpy).view(f"u{dtype.itemsize}")


@one_hot.gpu
def _gpu(call: op.Call, plan: OneHotPlan) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = target.batch_shape.volumes
    on, off = (_bits(call[name], target.dtype)[0] for name in ("on_value", "off_value"))
    inner = target.batch_shape.shapes[:, plan.place + 1 :].prod(axis=1)
    offsets = source.batch_shape.offsets, target.batch_shape.offsets
    table = np.stack([*offsets, volumes, inner], axis=1)
    slabs = source.data, target.data.view(on.dtype)
    types = {"Source": op.type_name(source.data.dtype), "Target": op.type_name(on.dtype)}
    numbers = np.int64(call["num_classes"]), on, off
    return op.launch_over(_KERNEL.unit(types), *slabs, table, volumes, *numbers)


@one_hot.cases
def _cases() -> list[op.Case]:
    labels = op.samples((), (), (), dtype=op.int32, layout="", low=-1, high=4)
    boxed = op.samples((1,), (1,), dtype=op.int64, layout="", low=0, high=3)
    masks = op.samples((2, 3), (4, 1), layout="HW", low=0, high=3)
    values = op.samples((4,), (4,), dtype=op.float32, layout="")
    for i in range(2):
        values.at(i)[:] = [0.9, 1.0, -0.5, np.nan]

    def marked(batch: Any, count: int) -> list[np.ndarray[Any, Any]]:
        return [
            (batch.at(i)[..., None] == np.arange(count)).astype(np.float32)
            for i in range(len(batch))
        ]

    return [
        op.case("labels", labels, num_classes=4).equals(marked(labels, 4)),
        op.case("labels of one element", boxed, num_classes=4).equals(
            [row[0] for row in marked(boxed, 4)]
        ),
        op.case("axis given", boxed, num_classes=4, axis=-1).equals(marked(boxed, 4)),
        op.case("masks", masks, num_classes=3).equals(marked(masks, 3)),
        op.case("first, named", masks, num_classes=3, axis=0, axis_name="C").equals(
            [one.transpose(2, 0, 1) for one in marked(masks, 3)]
        ),
        op.case("values", labels, num_classes=3, dtype=op.uint8, on_value=2.7, off_value=9).equals(
            [np.where(one > 0, 2, 9).astype(np.uint8) for one in marked(labels, 3)]
        ),
        op.case("bool", masks, num_classes=2, dtype=op.bool_)
        .equals([one > 0 for one in marked(masks, 2)])
        .no_oracle(),
        op.case("fractions", values, num_classes=2).equals(
            [np.array([[1, 0], [0, 1], [1, 0], [0, 0]], np.float32)] * 2
        ),
        op.case("no classes", labels).equals([np.empty(0, np.float32)] * 3),
        op.case("empty", op.samples(), num_classes=3).equals([]),
        op.case("negative", labels, num_classes=-2).value_error("`num_classes`"),
        op.case("no such axis", masks, num_classes=2, axis=3).value_error("`axis`"),
        op.case("letters", masks, num_classes=2, axis_name="CD").value_error("`axis_name`"),
        op.case("dtype", labels, dtype=complex).type_error("`dtype`"),
    ]
