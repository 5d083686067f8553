"""Copying an array as it lies in memory, without the interpreter lock."""

from __future__ import annotations

import ctypes
from typing import Any

from numpy.typing import NDArray

__all__ = ["copy_bytes"]


def copy_bytes(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy a whole array; both are in C order, of one dtype and as many elements.

    NumPy's assignment of such arrays keeps the lock, so that threads would copy one at a time.
    """
    assert target.nbytes == source.nbytes
    ctypes.memmove(target.ctypes.data, source.ctypes.data, target.nbytes)
