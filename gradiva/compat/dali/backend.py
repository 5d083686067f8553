"""What scripts import from DALI's `backend`: outputs of pipelines, schemas of operators,
settings of memory, and versions of libraries.

Functions win over the environment variables of the same meaning; docs/memory.md has them all.
Each raises OperatorTypeError for what is no number, and OperatorValueError for what is out of
range. Functions that read a setting raise OperatorValueError if its variable makes no sense.
"""

from __future__ import annotations

from typing import Any

from gradiva.capture.pipeline.outputs import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from gradiva.compat.dali.plugin_manager import load_directory as LoadDirectory
from gradiva.compat.dali.plugin_manager import load_library as LoadLibrary
from gradiva.compat.dali.schemas import (
    GetSchema,
    OpSchema,
    RegisteredCPUOps,
    RegisteredGPUOps,
    RegisteredMixedOps,
    TryGetSchema,
)
from gradiva.eager.cuda.cupy_runtime import count_gpus, gpu_of, known_gpus
from gradiva.eager.cuda.requirements import cuda_version
from gradiva.eager.runtime.host_memory import MemoryStats, pool
from gradiva.eager.runtime.memory_settings import settings
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError, annotate_error
from gradiva.eager.support.opencv import cv2, has_opencv
from gradiva.eager.support.validation import integer
from gradiva.eager.types.device import Device
from gradiva.eager.values.buffers import gpu_named
from gradiva.eager.values.capsules import CUDA, capsule_device, is_capsule

__all__ = [
    "CheckDLPackCapsule",
    "GetCUDADeviceCount",
    "GetCudaVersion",
    "GetCufftVersion",
    "GetCxx11AbiFlag",
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "GetNppVersion",
    "GetNvimgcodecVersion",
    "GetNvjpegVersion",
    "GetOpenCVVersion",
    "GetSchema",
    "IsDriverInitialized",
    "LoadDefaultPlugins",
    "LoadDirectory",
    "LoadLibrary",
    "MemoryStats",
    "OpSchema",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "ReleaseUnusedMemory",
    "RestrictPinnedMemUsage",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
    "TryGetSchema",
    "check_cuda_runtime",
    "memory_stats",
]


def __getattr__(name: str) -> Any:
    if name == "__cuda_version__":
        return cuda_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def SetHostBufferShrinkThreshold(threshold: float) -> None:  # noqa: N802
    """A waiting block is used for a request of at least this fraction of it: 0 for any request
    that fits (never shrink), 1 for none that is smaller (always shrink). The default is 0.9."""
    settings.set("shrink_threshold", threshold, "SetHostBufferShrinkThreshold", "threshold")


def GetHostBufferShrinkThreshold() -> float:  # noqa: N802
    """The current shrink threshold."""
    settings.read()
    return settings.shrink_threshold


def SetHostBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Fresh blocks are this much larger than asked for, from 1 (the default) to 4."""
    settings.set("host_growth", factor, "SetHostBufferGrowthFactor", "factor")


def GetHostBufferGrowthFactor() -> float:  # noqa: N802
    """The current growth factor of host memory."""
    settings.read()
    return settings.host_growth


def SetDeviceBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """As for host memory, for that of GPUs."""
    settings.set("device_growth", factor, "SetDeviceBufferGrowthFactor", "factor")


def GetDeviceBufferGrowthFactor() -> float:  # noqa: N802
    """The current growth factor of device memory."""
    settings.read()
    return settings.device_growth


def SetBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Set the growth factors of host and device memory."""
    settings.set("host_growth", factor, "SetBufferGrowthFactor", "factor")
    settings.set("device_growth", factor, "SetBufferGrowthFactor", "factor")


def ReleaseUnusedMemory() -> None:  # noqa: N802
    """Hand the memory that waits for reuse back to the system. Safe while pipelines run."""
    pool.clear()
    for gpu in known_gpus():
        gpu.release()


def PreallocatePinnedMemory(bytes: int) -> None:  # noqa: N802
    """Have a block of pinned memory waiting for the copies from and to a GPU. Raises
    OperatorRuntimeError without a GPU."""
    with annotate_error("PreallocatePinnedMemory"):
        count = _byte_count(bytes)
        gpu_of(gpu_named(Device.current(), None)).pinned.allocate(count)


def PreallocateDeviceMemory(bytes: int, device_id: int = 0) -> None:  # noqa: N802
    """Have a block of a GPU's memory waiting. Raises OperatorRuntimeError without that GPU, or if
    it has not as much left."""
    with annotate_error("PreallocateDeviceMemory"):
        count = _byte_count(bytes)
        gpu = gpu_of(Device("gpu", device_id))
        try:
            gpu.memory.reserve(count, 1, gpu.stream)
        except MemoryError as error:
            raise OperatorRuntimeError(str(error)) from None


def GetCUDADeviceCount() -> int:  # noqa: N802
    """GPUs that gradiva can use: 0 without CuPy or without a driver."""
    return count_gpus()


def CheckDLPackCapsule(capsule: object) -> tuple[bool, bool]:  # noqa: N802
    """Whether this is a DLPack capsule that nobody has taken yet, and whether its memory is that
    of a GPU."""
    if not is_capsule(capsule):
        return False, False
    try:
        kind, _ = capsule_device(capsule)
    except OperatorValueError:
        return False, False
    return True, kind == CUDA


# gradiva is linked with none of these libraries: what is used, it finds where it is installed.


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


def memory_stats() -> MemoryStats:
    """Bytes of host memory in use, waiting for reuse, and the most that were in use at once.

    Of blocks of the pool, that is of 16 KiB and more.
    """
    return pool.stats()


def _byte_count(value: Any) -> int:
    return integer(value, 0, expected="a number of bytes", argument="bytes")
