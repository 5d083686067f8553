"""What a GPU needs and this machine lacks: one sentence for all places that refuse a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from typing import TYPE_CHECKING, Final

from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = lazy_module("importlib.metadata")

EXTRAS: Final = "'gradiva[cuda12]' or 'gradiva[cuda13]'"
"""What a user gives to pip."""


def missing() -> str | None:
    """What a GPU needs and this machine lacks, in a few words; None if nothing is seen to lack.

    Imports no library: `check_gpu` in eager/cuda/cupy_runtime.py finds out whether there is a
    GPU.
    """
    # The driver first: nobody is sent for a large package who could not use it.
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "this machine has no NVIDIA GPU, or no driver for it (libcuda.so.1)"
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed (pip install {EXTRAS})"
    return None


def cuda_version() -> int:
    """The version of CUDA whose compiler is installed, as DALI writes it: 12986 for
    12.9.86; 0 for none."""
    for name in ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            major, minor, patch = (
                int(part) for part in (metadata.version(name) + ".0.0").split(".")[:3]
            )
            return major * 1000 + minor * 100 + patch
    return 0
