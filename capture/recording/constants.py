"""Constants: values that are the same for all samples, in dynamic mode and in graphs."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorOverflowError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.dali_types import OtherType
from gradiva.eager.types.device import Device
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.dtypes import DType, DTypeLike
from gradiva.eager.values.tensor import Tensor, to_array

from .recorder import Recorder


class ScalarConstant(Tensor):
    """A number with a dtype: a tensor without axes, for arithmetic and for arguments of operators.

    value: a bool, an int or a float, of Python or NumPy. dtype: by default that of a NumPy value;
    else bool, int32 or float32. A float loses its fraction on the way to an integer; a number that
    `dtype` does not hold becomes the nearest one that it does. Integers beyond int32 without a
    dtype are an OperatorValueError, other things an OperatorTypeError. `x.uint8()`,
    `x.float16()` and so on give the number in another dtype.
    """

    __slots__ = ()

    def __init__(self, value: Any, dtype: DTypeLike | None = None) -> None:
        with annotate_error("types.Constant"):
            if isinstance(value, Tensor) or np.ndim(value) or not _is_number(value):
                raise wrong_type("value", "a bool, an int or a float", describe(value))
            super().__init__(_array(value if dtype is None else _as(value, dtype), dtype))

    @property
    def value(self) -> Any:
        """The number, as Python has it."""
        return self.item()

    def bool(self) -> ScalarConstant:
        return self._cast("bool")

    def int8(self) -> ScalarConstant:
        return self._cast("int8")

    def int16(self) -> ScalarConstant:
        return self._cast("int16")

    def int32(self) -> ScalarConstant:
        return self._cast("int32")

    def int64(self) -> ScalarConstant:
        return self._cast("int64")

    def uint8(self) -> ScalarConstant:
        return self._cast("uint8")

    def uint16(self) -> ScalarConstant:
        return self._cast("uint16")

    def uint32(self) -> ScalarConstant:
        return self._cast("uint32")

    def uint64(self) -> ScalarConstant:
        return self._cast("uint64")

    def float16(self) -> ScalarConstant:
        return self._cast("float16")

    def float32(self) -> ScalarConstant:
        return self._cast("float32")

    def float64(self) -> ScalarConstant:
        return self._cast("float64")

    def _cast(self, name: str) -> ScalarConstant:
        return ScalarConstant(self.value, DType.parse(name))


def Constant(  # noqa: N802  the name that scripts use
    value: Any,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    layout: str | None = None,
    device: Any = None,
    *,
    name: str | None = None,
    preserve: bool = False,
) -> Any:
    """A value that is the same for all samples.

    value: a number, or an array, a list or a tuple of numbers. dtype: to convert to, rounding half
    away from zero and saturating; by default that of the value, where Python's numbers and
    NumPy's 64-bit ones in arrays become int32 and float32, and members of enumerations (types.RGB,
    types.INT16) their numbers, which types.DATA_TYPE and the like stand for. shape: of a sample; a
    single number is repeated. layout: of a sample. device: where it is, "cpu" or "gpu". name: of
    the node, in a pipeline definition. preserve: the node stays though nothing needs it.

    A number alone, without `shape`, `layout` and `device`, gives a ScalarConstant. All else is a
    Tensor, or in a pipeline definition a symbol, which can also be an output. Raises
    OperatorTypeError or OperatorValueError.
    """
    number = not np.ndim(value) and not isinstance(value, Tensor | DType | enum.Enum)
    if number and not shape and not layout and device is None:
        return ScalarConstant(value, dtype)
    return ConstantNode(device or "cpu", value, dtype, shape, layout, name=name, preserve=preserve)


def ConstantNode(  # noqa: N802  the name that scripts use
    device: Any,
    value: Any,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    layout: str | None = None,
    *,
    name: str | None = None,
    preserve: bool = False,
) -> Any:
    """As `Constant`, never a ScalarConstant."""
    with annotate_error("types.Constant"):
        where = to_device(device)
        if isinstance(value, str | bytes) or value is None:
            raise wrong_type("value", "a number or an array of numbers", describe(value))
        plain = np.asarray(value) if isinstance(value, np.generic) else value
        array = _shaped(_array(plain, dtype), shape)
        try:
            made = Tensor.over(array, as_layout(layout or "", array.ndim))
        except (TypeError, ValueError) as error:
            raise OperatorValueError(str(error), argument="layout") from None
        return _in_graph(made, where, name, preserve)


def constant(
    *,
    fdata: Sequence[float] | float | None = None,
    idata: Sequence[int] | int | None = None,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    layout: str | None = None,
    device: Any = "cpu",
    name: str | None = None,
    preserve: bool = False,
) -> Any:
    """A constant from numbers: `fdata` (float32 by default) or `idata` (int32), flat.

    shape: of a sample, by default that of a vector with all numbers; a single one is repeated.
    dtype, layout, device, name, preserve: see `types.Constant`. Raises OperatorTypeError or
    OperatorValueError.
    """
    with annotate_error("constant"):
        if (fdata is None) == (idata is None):
            raise OperatorValueError("exactly one of `fdata` and `idata` is given")
        data = np.asarray(fdata, np.float32) if idata is None else np.asarray(idata)
        if idata is not None and data.dtype.kind not in "biu":
            raise wrong_type("idata", "integers", describe(idata))
        if shape is None:
            shape = (data.size,)
    return ConstantNode(device, data, dtype, shape, layout, name=name, preserve=preserve)


_ENUMERATIONS = (OtherType.IMAGE_TYPE, OtherType.DATA_TYPE, OtherType.INTERP_TYPE)


def _is_number(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _as(value: Any, dtype: DTypeLike) -> Any:
    """A number as Python has it, on its way to `dtype`. Raises OperatorValueError."""
    wanted = _dtype(dtype)
    number = np.asarray(value).item()
    if wanted.kind == "b":
        return bool(number)
    if wanted.kind not in "iu":
        return float(number)
    limits = np.iinfo(wanted)
    try:
        whole = int(number)
    except (ValueError, OverflowError):
        raise wrong_value("value", f"a number for {wanted}", describe(value)) from None
    return np.asarray(min(max(whole, limits.min), limits.max), wanted)[()]


def _dtype(dtype: DTypeLike) -> np.dtype[Any]:
    if dtype in _ENUMERATIONS:
        return np.dtype(np.int32)
    try:
        return DType.of(dtype).numpy
    except (TypeError, ValueError) as error:
        raise OperatorTypeError(str(error), argument="dtype") from None


def _array(value: Any, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    array = to_array(value)
    if dtype is not None:
        return np.array(convert_array(np.asarray(array), _dtype(dtype)), order="C")
    if isinstance(value, np.generic | Tensor):
        return np.array(array, order="C")
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    if array.dtype == np.int64:
        limits = np.iinfo(np.int32)
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise OperatorOverflowError(
                "it does not fit into int32; say dtype=types.INT64",
                argument="value",
                expected=f"integers from {limits.min} to {limits.max}",
                got=describe(value),
            )
        array = array.astype(np.int32)
    return np.array(array, order="C")


def _shaped(array: np.ndarray[Any, Any], shape: Sequence[int] | None) -> np.ndarray[Any, Any]:
    if shape is None:
        return array
    extents = tuple(int(extent) for extent in np.atleast_1d(np.asarray(shape, np.int64)))
    if any(extent < 0 for extent in extents):
        raise wrong_value("shape", "no negative extents", str(extents))
    if array.size == 1:
        return np.full(extents, array.reshape(())[()])
    try:
        return array.reshape(extents)
    except ValueError:
        raise wrong_value("shape", f"a shape of {array.size} elements", str(extents)) from None


def _in_graph(made: Tensor, where: Device, name: str | None, preserve: bool) -> Any:
    """The constant itself, or, while a graph is recorded, a symbol for it."""
    recorder = current_interpreter()
    if not isinstance(recorder, Recorder):
        return made.to_device(where)
    try:
        symbol = recorder.symbol(made, 0)
        recorder.mark(symbol.edge.node, name, preserve)
        return symbol.to_device(where)
    except GradivaError as error:
        raise error.complete(operator="types.Constant") from None
