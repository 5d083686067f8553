"""Settings of memory under the names that scripts import from the reference's `backend`.

Functions win over the environment variables of the same meaning; docs/memory.md has them all.
Each raises OperatorTypeError for what is no number, and OperatorValueError for what is out of
range. Functions that read a setting raise OperatorValueError if its variable makes no sense.
"""

from __future__ import annotations

import operator
from typing import Any

from gradiva.eager.device import Device, require_cpu
from gradiva.eager.integers import integer
from gradiva.eager.memory import MemoryStats, pool
from gradiva.eager.memory_settings import settings

__all__ = [
    "GetCUDADeviceCount",
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "MemoryStats",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "ReleaseUnusedMemory",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "memory_stats",
]


def SetHostBufferShrinkThreshold(threshold: float) -> None:  # noqa: N802
    """A waiting block is used for a request of at least this fraction of it: 0 for any request
    that fits (never shrink), 1 for none that is smaller (always shrink). The default is 0.9."""
    settings.set("shrink_threshold", threshold, "SetHostBufferShrinkThreshold", "threshold")


def GetHostBufferShrinkThreshold() -> float:  # noqa: N802
    """The shrink threshold in force."""
    settings.read()
    return settings.shrink_threshold


def SetHostBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Fresh blocks are this much larger than asked for, from 1 (the default) to 4."""
    settings.set("host_growth", factor, "SetHostBufferGrowthFactor", "factor")


def GetHostBufferGrowthFactor() -> float:  # noqa: N802
    """The growth factor of host memory in force."""
    settings.read()
    return settings.host_growth


def SetDeviceBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """As for host memory. Kept and checked; without a GPU backend there is nothing to grow."""
    settings.set("device_growth", factor, "SetDeviceBufferGrowthFactor", "factor")


def GetDeviceBufferGrowthFactor() -> float:  # noqa: N802
    """The growth factor of device memory in force."""
    settings.read()
    return settings.device_growth


def SetBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Set the growth factors of host and device memory."""
    settings.set("host_growth", factor, "SetBufferGrowthFactor", "factor")
    settings.set("device_growth", factor, "SetBufferGrowthFactor", "factor")


def ReleaseUnusedMemory() -> None:  # noqa: N802
    """Hand the memory that waits for reuse back to the system. Safe while pipelines run."""
    pool.clear()


def PreallocatePinnedMemory(bytes: int) -> None:  # noqa: N802
    """Raises OperatorRuntimeError: there is no pinned memory without a GPU backend."""
    _byte_count(bytes, "PreallocatePinnedMemory")
    _refuse("PreallocatePinnedMemory", 0)


def PreallocateDeviceMemory(bytes: int, device_id: int = 0) -> None:  # noqa: N802
    """Raises OperatorRuntimeError: there is no device memory without a GPU backend."""
    _byte_count(bytes, "PreallocateDeviceMemory")
    _refuse("PreallocateDeviceMemory", operator.index(device_id))


def GetCUDADeviceCount() -> int:  # noqa: N802
    """GPUs that gradiva can use: none in this version."""
    return 0


def memory_stats() -> MemoryStats:
    """Bytes of host memory in use, waiting for reuse, and the most that were in use at once.

    Of blocks of the pool, that is of 16 KiB and more.
    """
    return pool.stats()


def _byte_count(value: Any, function: str) -> None:
    integer(value, 0, expected="a number of bytes", operator=function, argument="bytes")


def _refuse(function: str, device_id: int) -> None:
    try:
        require_cpu(Device("gpu", device_id))
    except RuntimeError as error:
        error.operator = function  # type: ignore[attr-defined]
        raise
