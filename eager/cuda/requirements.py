"""What a GPU needs and this machine lacks: one sentence for all places that refuse a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
from typing import Final

__all__ = ["EXTRAS", "missing"]

EXTRAS: Final = "'gradiva[cuda12]' or 'gradiva[cuda13]'"
"""What a user gives to pip."""


def missing() -> str | None:
    """What a GPU needs and this machine lacks, in a few words; None if nothing is seen to lack.

    Imports no library: `require_gpu` in eager/cuda/cupy_runtime.py finds out whether there is a
    GPU.
    """
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed (pip install {EXTRAS})"
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver (libcuda.so.1)"
    return None
