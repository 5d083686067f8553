"""bfloat16: the upper half of a float32. Conversions of its bits, and its exchange by DLPack.

Values are rounded to nearest, ties to even, as in torch, JAX and ml_dtypes. Wider values are not
rounded twice. NaN stays NaN with its sign.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .dtypes import bfloat16

__all__ = ["BorrowedBits", "export", "from_bfloat16", "is_bfloat16", "to_bfloat16"]

Array = NDArray[Any]

_UNSIGNED: Final = 1
_BFLOAT: Final = 4
"""Numbers of kinds of types in DLPack."""
_CODES: Final = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Where DLDataType stands in DLManagedTensor and DLManagedTensorVersioned, in bytes: its first byte
is the kind, its second one the number of bits."""
_EXACT: Final = 1 << 53

_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Whether this is the dtype that ml_dtypes makes."""
    return dtype.itemsize == 2 and dtype.name == "bfloat16"  # names take NumPy a microsecond


def from_bfloat16(values: Array) -> NDArray[np.float32]:
    """The same numbers, as float32."""
    bits = np.ascontiguousarray(values).reshape(-1).view(np.uint16)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).reshape(values.shape)


def to_bfloat16(values: Array) -> Array:
    """The nearest bfloat16 numbers to values of any dtype."""
    single = np.ascontiguousarray(_to_single(values.reshape(-1)))
    bits = single.view(np.uint32)
    last = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + last) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    result = np.where(np.isnan(single), quiet, rounded).astype(np.uint16)
    return result.view(bfloat16.numpy).reshape(values.shape)


def _to_single(values: Array) -> Array:
    """float32 that rounds to the same bfloat16: where digits are lost, the last bit is set, so that
    no half is made out of what is a little more or less."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        # The same from integers to float64: 53 bits hold all but the last 12.
        large = (values > _EXACT) | (values < -_EXACT if values.dtype.kind == "i" else False)
        lost = np.where(values & 0xFFF, 1 << 11, 0).astype(values.dtype)
        cut = values >> 12 << 12 | lost
        values = np.where(large, cut, values)
    if values.dtype.kind in "iu" and values.dtype.itemsize >= 4:
        values = values.astype(np.float64)
    if values.dtype != np.float64:
        return values.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        back = single.astype(np.float64)
        bits = single.view(np.uint32)
        bits = bits - (np.abs(back) > np.abs(values)).astype(np.uint32) | (back != values)
    odd: Array = bits.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), np.float32("nan"), odd)


class BorrowedBits:
    """An array of bfloat16 from another library, for NumPy, which does not know this type: the same
    memory as uint16, by DLPack."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._source.__dlpack__(**options)
        _relabel(capsule, _BFLOAT, _UNSIGNED)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._source.__dlpack_device__()
        return int(kind), int(number)


def export(values: Array, **options: Any) -> Any:
    """A DLPack capsule of an array of bfloat16."""
    capsule = values.view(np.uint16).__dlpack__(**options)
    _relabel(capsule, _UNSIGNED, _BFLOAT)
    return capsule


def _relabel(capsule: Any, before: int, after: int) -> None:
    """Change what kind of type the 16-bit elements of a capsule are said to have.

    A capsule is made for the caller, and belongs to it until it is taken. Raises BufferError.
    """
    name = _name(capsule)
    place = _CODES.get(name or b"")
    if place is None:
        raise BufferError(f"a DLPack capsule of an unknown kind: {name!r}")
    kind = (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + place)
    if tuple(kind) != (before, 16):
        raise BufferError(f"expected 16-bit elements of kind {before}, got {tuple(kind)}")
    kind[0] = after
