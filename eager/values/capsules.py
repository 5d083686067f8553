"""DLPack capsules: arrays as `x.__dlpack__()` and `torch.utils.dlpack.to_dlpack(x)` return them."""

from __future__ import annotations

import ctypes
import datetime
from typing import Any

from gradiva.eager.support.errors import OperatorValueError

__all__ = ["CUDA", "DLPackCapsule", "capsule_device", "is_capsule"]

CUDA = 2
"""The number of GPUs in DLPack."""
CAPSULE = type(datetime.datetime_CAPI)
_PLACES = {b"dltensor": 8, b"dltensor_versioned": 40}
"""Where the device stands in what a capsule of this name holds: behind the address of the data,
and in newer versions of the format behind a version, an owner, its deleter and flags."""

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def is_capsule(data: Any) -> bool:
    """Whether this is a capsule, of DLPack or another one."""
    return isinstance(data, CAPSULE)


def capsule_device(capsule: Any) -> tuple[int, int]:
    """The kind and the number of the device that a capsule's memory is on, as DLPack counts them.
    Raises OperatorValueError for a capsule without memory: it can be taken once only."""
    name = _name(capsule)
    if name not in _PLACES:
        raise OperatorValueError(
            expected="a DLPack capsule that nobody has taken yet",
            got=f"a capsule named {name.decode() if name else None!r}",
        )
    kind, number = (ctypes.c_int32 * 2).from_address(_pointer(capsule, name) + _PLACES[name])
    return int(kind), int(number)


class DLPackCapsule:
    """A capsule as an object that has it."""

    __slots__ = ("_capsule", "_device", "writable")

    def __init__(self, capsule: Any) -> None:
        self._capsule, self._device = capsule, capsule_device(capsule)
        self.writable = _name(capsule) == b"dltensor"
        """Whether the capsule has no version, and no place to say that it is read-only."""

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device
