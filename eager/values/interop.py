"""Converts what users give to arrays: numbers, lists, text, buffers, arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    wrong_type,
)
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.bfloat16 import BorrowedBits, is_bfloat16
from gradiva.eager.types.dtypes import DType, DTypeLike, bfloat16

from .capsules import DLPackCapsule, is_capsule
from .value import Value

__all__ = [
    "ArrayLike",
    "SupportsDLPack",
    "checked",
    "image_layout",
    "in_low_corners",
    "is_array",
    "pad_arrays",
    "parts_of",
    "prepare",
    "same_kind",
    "to_array",
]

ArrayLike: TypeAlias = Any
"""A Tensor, NumPy array, scalar, (nested) list of numbers, bytes, str, buffer, a DLPack capsule,
or an object with `__dlpack__`, `__array__` or `__array_interface__` whose memory is on the CPU."""

Result = TypeVar("Result")

_PROTOCOLS = ("__dlpack__", "__array__", "__array_interface__", "__cuda_array_interface__")


_IMAGE_LAYOUTS = {2: "HW", 3: "HWC"}


class SupportsDLPack(Protocol):
    """An array of another library, whose memory can be shared."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def is_array(data: Any) -> bool:
    """Whether this is one array, of any library, and not a collection of arrays."""
    if isinstance(data, np.ndarray) or is_capsule(data):
        return True
    return any(hasattr(data, name) for name in _PROTOCOLS)


def image_layout(data: Any, ndim: int) -> str:
    """The layout of an image of Pillow, as an array of this rank; "" for all else."""
    return _IMAGE_LAYOUTS.get(ndim, "") if callable(getattr(data, "getbands", None)) else ""


def to_array(data: ArrayLike, wide: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array on the same memory where possible.

    Python ints become int32 (int64 if they do not fit), floats float32, also in lists; with `wide`,
    for those who convert them anyway, int64 and float64. Text becomes uint8, as UTF-8. Raises
    OperatorTypeError; OperatorValueError for a batch of different shapes.
    """
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, Value) and hasattr(type(data), "__array__"):
        return np.asarray(data)
    if isinstance(data, str):
        data = data.encode()
    try:
        found = _of_protocol(data)
        plain = found is None
        array = np.asarray(data) if found is None else found
    except GradivaError:
        raise
    except Exception as error:
        raise wrong_type("", "an array", f"{describe(data)}: {error}") from error
    if plain and not wide:
        array = _narrow(array)
    if array.dtype.kind not in "biuf" and not is_bfloat16(array.dtype):
        if not array.size or not all(isinstance(one, DType) for one in array.flat):
            expected = "an array of numbers or booleans"
            if hasattr(data, "read"):
                expected += " (of an open file, what its read() returns)"
            raise wrong_type("", expected, describe(data))
        # Members of enumerations are numbers; element types are objects, and have one each.
        array = array.astype(np.int32)
    return array


def _of_protocol(data: Any) -> np.ndarray[Any, Any] | None:
    """The array behind a buffer, an array of another library or a list of tensors, whose dtype was
    chosen by the user; None for other data."""
    if isinstance(data, np.generic):
        return np.asarray(data)
    if is_capsule(data):
        data = DLPackCapsule(data)
    if hasattr(data, "__cuda_array_interface__"):
        _check_not_gpu(data)
    if hasattr(data, "__dlpack__"):
        array = _of_dlpack(data)
        unversioned = isinstance(data, DLPackCapsule) and data.writable
        return np.asarray(_Memory(array)) if unversioned else array
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    if isinstance(data, list | tuple):
        tensors = bool(data) and all(isinstance(part, Value) for part in data)
        return np.stack([to_array(part) for part in data]) if tensors else None
    try:
        view = memoryview(data)
    except TypeError:
        return None
    return np.frombuffer(data, np.uint8) if view.format == "B" else np.asarray(view)


class _Memory:
    """The memory of an array that NumPy made of a capsule without a version, as one that can be
    written. NumPy takes it for read-only, but libraries refuse to make these of read-only data."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def _of_dlpack(data: Any) -> np.ndarray[Any, Any]:
    # Numbers of devices: 1 is the CPU, 3 is the CPU's memory pinned for a GPU.
    if hasattr(data, "__dlpack_device__") and int(data.__dlpack_device__()[0]) not in (1, 3):
        _check_not_gpu(data)
    if getattr(data, "requires_grad", False):
        data = data.detach()
    if str(getattr(data, "dtype", "")).endswith("bfloat16"):
        return np.from_dlpack(BorrowedBits(data)).view(bfloat16.numpy)
    try:
        return np.from_dlpack(data)
    except (BufferError, RuntimeError, TypeError):
        # Some libraries do not export what is read-only or of some dtypes, but NumPy may have it.
        if hasattr(data, "__array__"):
            return np.asarray(data)
        raise


def _check_not_gpu(data: Any) -> None:
    raise wrong_type(
        "", "data in host memory (those on a GPU become some with `.cpu()`)", describe(data)
    )


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64:
        small = not array.size or (array.min() >= -(2**31) and array.max() < 2**31)
        return array.astype(np.int32) if small else array
    return array


def checked(check: Callable[..., Result], *values: Any) -> Result:
    """The result of `check`; its TypeError and ValueError become errors of an operator."""
    try:
        return check(*values)
    except (TypeError, ValueError) as error:
        kind = OperatorTypeError if isinstance(error, TypeError) else OperatorValueError
        raise kind(str(error)) from None


def prepare(
    array: np.ndarray[Any, Any], dtype: DTypeLike | None, layout: str | None
) -> tuple[np.ndarray[Any, Any], str]:
    """The array C-contiguous, in native byte order and in the wanted dtype; the layout checked.

    Values are converted as by `cast`: integers saturate, fractions are rounded half away from zero.
    """
    own = checked(DType.from_numpy, array.dtype)
    wanted = own if dtype is None else checked(DType.of, dtype)
    layout = checked(as_layout, layout or "", array.ndim)
    try:
        array = np.asarray(array, own.numpy, order="C")
        return (array if wanted is own else np.asarray(convert_array(array, wanted.numpy))), layout
    except MemoryError as error:
        lack = str(error)
    raise OperatorRuntimeError(f"not enough memory for a copy of the input ({lack})")


def pad_arrays(data: Any, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    """One array with a leading axis that holds each of some arrays in its low corner, 0 elsewhere.

    Raises OperatorTypeError if their dtypes (without `dtype`) or their ranks differ.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    for index, part in enumerate(parts_of(data, "data")):
        try:
            array, _ = prepare(to_array(part, dtype is not None), dtype, "")
        except GradivaError as error:
            raise error.complete(sample=index) from None
        same_kind(arrays[0] if arrays else array, array, index)
        arrays.append(array)
    if not arrays:
        return np.zeros(0, np.uint8 if dtype is None else DType.of(dtype).numpy)
    return in_low_corners(arrays)


def in_low_corners(arrays: Sequence[np.ndarray[Any, Any]], fill: float = 0) -> np.ndarray[Any, Any]:
    """One array with a leading axis that holds each of these in its low corner, `fill` elsewhere.

    arrays: one or more, of one dtype and rank.
    """
    extents = np.array([array.shape for array in arrays], np.int64).max(axis=0)
    result = np.full((len(arrays), *extents), fill, arrays[0].dtype)
    for index, array in enumerate(arrays):
        corner: tuple[Any, ...] = (index, *(slice(extent) for extent in array.shape))
        result[corner] = array
    return result


def same_kind(first: np.ndarray[Any, Any], array: np.ndarray[Any, Any], sample: int) -> None:
    """Raise an error for a sample of another dtype or rank than the first one."""
    if array.dtype != first.dtype or array.ndim != first.ndim:
        raise OperatorTypeError(
            "the samples of a batch have one dtype and one rank",
            expected=f"{first.ndim}-D {first.dtype} as in sample 0",
            got=f"{array.ndim}-D {array.dtype}",
            sample=sample,
        )


def parts_of(data: Any, argument: str) -> Sequence[ArrayLike]:
    """The samples in an iterable. Raises OperatorTypeError for what is no collection of samples in
    an order: text, sets, dicts, numbers."""
    if isinstance(data, str | bytes):
        problem = "a text is one sample, not several"
        raise wrong_type(argument, "a list of samples", describe(data), problem)
    try:
        if isinstance(data, Mapping | Set):
            raise TypeError
        return list(data)
    except TypeError:
        raise wrong_type(argument, "an iterable of arrays", describe(data)) from None
