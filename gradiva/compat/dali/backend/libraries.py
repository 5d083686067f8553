"""Versions of the native libraries that scripts ask for, and questions to CUDA.

gradiva is linked with none of these libraries: what is used, it finds where it is installed.
"""

from __future__ import annotations

from gradiva.eager.cuda.cupy_runtime import count_gpus
from gradiva.eager.cuda.requirements import cuda_version
from gradiva.eager.support.opencv import cv2, has_opencv

__all__ = [
    "GetCudaVersion",
    "GetCufftVersion",
    "GetCxx11AbiFlag",
    "GetNppVersion",
    "GetNvimgcodecVersion",
    "GetNvjpegVersion",
    "GetOpenCVVersion",
    "IsDriverInitialized",
    "LoadDefaultPlugins",
    "RestrictPinnedMemUsage",
    "check_cuda_runtime",
]


def GetCudaVersion() -> int:  # noqa: N802
    """The version of CUDA, as 12986 for 12.9.86; 0 where none is used, for want of a GPU too."""
    return cuda_version() if count_gpus() else 0


def GetCufftVersion() -> int:  # noqa: N802
    """-1: the library is not linked."""
    return -1


def GetNppVersion() -> int:  # noqa: N802
    """-1: the library is not linked."""
    return -1


def GetNvjpegVersion() -> int:  # noqa: N802
    """-1: the library is not linked."""
    return -1


def GetNvimgcodecVersion() -> int:  # noqa: N802
    """-1: the library is not linked."""
    return -1


def GetOpenCVVersion() -> str:  # noqa: N802
    """The version of the OpenCV that is installed, or "absent"."""
    return str(cv2.getVersionString()) if has_opencv() else "absent"


def GetCxx11AbiFlag() -> int:  # noqa: N802
    """1: what today's compilers for Linux use. There is no native code that depends on it."""
    return 1


def IsDriverInitialized() -> bool:  # noqa: N802
    """Whether there is a GPU that gradiva can use."""
    return count_gpus() > 0


def LoadDefaultPlugins() -> None:  # noqa: N802
    """Nothing: there are no native plugins."""


def RestrictPinnedMemUsage() -> bool:  # noqa: N802
    """False: pinned memory is used where there is a GPU."""
    return False


def check_cuda_runtime() -> None:
    """Nothing: what a GPU needs is checked where it is used first, with an error that says what is
    missing."""
