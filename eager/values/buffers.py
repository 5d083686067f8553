"""Operations on the memory of batches and tensors, on the CPU or on a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, SupportsInt, TypeVar

import numpy as np

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.cuda.device_array import DeviceArray, Foreign
from gradiva.eager.cuda.streams import LEGACY, DeviceStream
from gradiva.eager.support.errors import OperatorTypeError, wrong_type
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.bfloat16 import export, is_bfloat16
from gradiva.eager.types.device import CPU, Device, check_device
from gradiva.eager.types.dtypes import DType, DTypeLike

from .capsules import CUDA, DLPackCapsule, is_capsule
from .value import Value

__all__ = [
    "Exported",
    "capsule_of",
    "check_on_host",
    "cuda_interface",
    "device_of",
    "dlpack_device",
    "fill",
    "for_reading",
    "gpu_array",
    "gpu_named",
    "host_capsule_of",
    "is_owned",
    "memory_of",
    "moved",
    "on_cpu",
    "owner_of",
    "put",
    "same_dtype",
    "spread",
    "stacked",
]

V = TypeVar("V")
_KNOWS_OPTIONS: Final = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether NumPy's own capsules accept more options than a stream."""


def on_cpu(data: Any) -> bool:
    """Whether this array is in host memory."""
    return isinstance(data, np.ndarray)


def is_owned(data: Any) -> bool:
    """Whether an array on a GPU is in memory of a pool, which no other code writes to."""
    return not isinstance(data.block, Foreign)


def memory_of(arrays: Iterable[Any]) -> Counter[int]:
    """The number of these arrays in each memory, by the number of the memory (see `owner_of`)."""
    return Counter(map(owner_of, arrays))


def owner_of(data: Any) -> int:
    """A number for the memory of an array. It is unique as long as the memory exists."""
    if isinstance(data, np.ndarray):
        return id(data.base if isinstance(data.base, np.ndarray) else data)
    return id(data.block)


class _Readable:
    """An array whose memory kernels take like any other, although it is read-only."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = {
            "data": (array.ctypes.data, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "version": 3,
        }


def for_reading(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A read-only array for a kernel that does not write into it: for Numba a read-only array has
    a type of its own, with which each kernel would be compiled again."""
    return np.asarray(_Readable(array)).view(array.dtype) if array.size else array.copy()


def device_of(data: Any) -> Device:
    """The device of an array."""
    return CPU if isinstance(data, np.ndarray) else data.device


def gpu_named(own: Device, index: int | None) -> Device:
    """The GPU that `value.gpu(index)` means: without a number the one where the value is, else the
    current one, else the first one."""
    if index is not None:
        return Device("gpu", index)
    current = Device.current()
    return next((one for one in (own, current) if one.device_type == "gpu"), Device("gpu", 0))


def moved(data: Any, where: Device, force_copy: bool) -> Any:
    """The array on a device; a copy if it is elsewhere or if one is wanted. To the CPU it waits."""
    check_device(where)
    if device_of(data) == where:
        return data.copy() if force_copy else data
    if where.device_type == "cpu":
        return data.get()
    gpu = gpu_of(where)
    return gpu.sent(data) if isinstance(data, np.ndarray) else gpu.copied(data)


def gpu_array(data: Any) -> Any:
    """The array on a GPU for these data, of any library, without a copy; None if they are not on a
    GPU. Raises OperatorTypeError for a GPU that does not exist."""
    if isinstance(data, np.ndarray | list | tuple | bytes | str | int | float):
        return None
    if isinstance(data, DeviceArray):
        return data
    if isinstance(data, Value):
        memory = getattr(data, "_memory", None)
        if memory is None or on_cpu(memory):
            return None
        return data.as_array() if hasattr(data, "as_array") else data._array  # type: ignore[attr-defined]
    if is_capsule(data):
        data = DLPackCapsule(data)
    number = _number_of(data)
    return None if number is None else gpu_of(Device("gpu", number)).taken(data)


def _number_of(data: Any) -> int | None:
    """The number of the GPU of another library's array; None for the CPU."""
    if hasattr(data, "__dlpack_device__"):
        kind, number = data.__dlpack_device__()
        return int(number) if int(kind) == CUDA else None
    if not hasattr(data, "__cuda_array_interface__"):
        return None
    device = getattr(data, "device", None)
    return int(getattr(device, "id", 0) or 0)


def same_dtype(array: Any, dtype: DTypeLike | None) -> None:
    """Raise an error if an array on a GPU would have to be converted: `cast` does that."""
    if dtype is not None and DType.of(dtype).numpy != array.dtype:
        raise wrong_type(
            "dtype", f"the array's own, {array.dtype} (`cast` converts on a GPU)", str(dtype)
        )


def stacked(arrays: Sequence[Any], like: Any) -> Any:
    """Arrays of one size on the device of `like`, stacked into one array."""
    if isinstance(like, np.ndarray):
        return np.stack(arrays) if arrays else np.empty(0, like.dtype)
    size = arrays[0].size if arrays else 0
    return spread(arrays, range(0, size * len(arrays), max(size, 1)), size * len(arrays), like)


def spread(arrays: Sequence[Any], offsets: Sequence[int], size: int, like: Any = None) -> Any:
    """A slab of `size` elements on a GPU with copies of arrays at these offsets."""
    first = arrays[0] if like is None else like
    gpu = first.block.stream.gpu
    made = gpu.empty(size, first.dtype)
    gpu.place(arrays, offsets, made)
    return made


def put(arrays: Sequence[Any], offsets: Sequence[int], target: Any) -> None:
    """Copy arrays on a GPU into a slab there, at offsets in elements."""
    target.block.stream.gpu.place(arrays, offsets, target)


def fill(target: Any, value: Any) -> None:
    """Set all elements of an array; on a GPU, of an array that the current stream makes."""
    if isinstance(target, np.ndarray):
        target[...] = value
    else:
        target.block.stream.gpu.write(np.full(target.shape, value, target.dtype), target)


def check_on_host(value: V, data: Any) -> V:
    """`value`, if its memory is accessible to NumPy. Raises OperatorTypeError for memory on a
    GPU."""
    if not isinstance(data, np.ndarray):
        raise OperatorTypeError(
            f"this {type(value).__name__} is on {data.device}, and NumPy's arrays are in host "
            "memory: take .cpu() of it first"
        )
    return value


def cuda_interface(data: Any) -> dict[str, Any]:
    """`__cuda_array_interface__` of an array on a GPU. Raises AttributeError for other arrays,
    which means that the attribute is missing."""
    if isinstance(data, np.ndarray):
        raise AttributeError("this is on the CPU: there is no CUDA array interface")
    interface: dict[str, Any] = data.__cuda_array_interface__
    return interface


def dlpack_device(data: Any) -> tuple[int, int]:
    """The numbers of a device in DLPack."""
    return (1, 0) if isinstance(data, np.ndarray) else (CUDA, data.device.device_id)


def capsule_of(array: Any, stream: SupportsInt | None, options: Mapping[str, Any]) -> Any:
    """A DLPack capsule of an array on a GPU. stream: of the consumer, which may use the array on
    it at once: None or 1 for the legacy default stream, 2 for that of the thread, -1 for one that
    needs no order. options: those of `__dlpack__`. Raises BufferError for another device."""
    wanted = options.get("dl_device")
    if wanted is not None and tuple(map(int, wanted)) != dlpack_device(array):
        raise BufferError(f"this array is on {array.device}: take .cpu() of it first")
    if is_bfloat16(array.dtype):
        raise BufferError("bfloat16 leaves a GPU by .cpu()")
    gpu = array.block.stream.gpu
    gpu.runtime.activate()
    if options.get("copy"):
        array = gpu.copied(array)
    if stream is None or int(stream) != -1:
        array.block.use(DeviceStream(gpu, LEGACY if stream is None else int(stream)))
    return gpu.runtime.dlpack(array)


def host_capsule_of(array: Array, options: Mapping[str, Any]) -> Any:
    """A DLPack capsule of an array in host memory. options: those of `__dlpack__`. Raises
    BufferError for another device."""
    wanted = options.get("dl_device")
    if wanted is not None and tuple(map(int, wanted)) != (1, 0):
        raise BufferError("this array is in host memory")
    version = options.get("max_version") or (0, 0)
    known = version[0] >= 1 and _KNOWS_OPTIONS
    copy = options.get("copy")
    # The protocol knows read-only memory from its version 1.0 on.
    locked = not array.flags.writeable and copy is not False and not known
    if locked or (copy and not _KNOWS_OPTIONS):
        array = array.copy()
    if not _KNOWS_OPTIONS:
        options = {}
    return (export if is_bfloat16(array.dtype) else np.ndarray.__dlpack__)(array, **options)


class Exported:
    """An array in the form in which torch accepts it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, stream: SupportsInt | None = None, **options: Any) -> Any:
        return capsule_of(self._array, stream, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self._array)
