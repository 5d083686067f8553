"""CuPy, loaded on first need: this is the only file that imports it. The GPUs of this machine.

What has run so far is this file over a recorded fake of CuPy; docs/gpu.md says what has not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, describe, wrong_type
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import Device, find_gpu
from gradiva.eager.types.dtypes import DType

from .context import Gpu
from .launch import THREADS, KernelSource
from .nvrtc import compile_unit
from .protocol import Runtime
from .requirements import EXTRAS, missing

_NON_BLOCKING: Final = 1
_NO_TIMING: Final = 2
_PORTABLE: Final = 1
_ANY_DIRECTION: Final = 4
_NO_MEMORY: Final = 2

_cupy: Any = lazy_module("cupy", EXTRAS)


def check_gpu(number: int) -> None:
    """Raises OperatorRuntimeError, with what is to be done, if there is no GPU of this number."""
    lack = missing()
    if lack is not None:
        raise OperatorRuntimeError(lack)
    try:
        count = _cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise OperatorRuntimeError(f"CuPy finds no GPU: {reason}") from None
    if number >= count:
        raise OperatorRuntimeError(f"there are {count} GPUs, and this is number {number}")


class CupyRuntime:
    """`Runtime` by the thin functions of CuPy over CUDA. Raises OperatorRuntimeError if there is no
    GPU of this number."""

    def __init__(self, number: int) -> None:
        check_gpu(number)
        self.number = number
        self._cuda = _cupy.cuda.runtime
        self._driver = _cupy.cuda.driver
        with _reported("cudaGetDeviceProperties"):
            self.architecture = int(_cupy.cuda.Device(number).compute_capability)

    def activate(self) -> None:
        with _reported("cudaSetDevice"):
            self._cuda.setDevice(self.number)

    def create_stream(self, priority: int = 0) -> int:
        with _reported("cudaStreamCreateWithPriority"):
            return int(self._cuda.streamCreateWithPriority(_NON_BLOCKING, priority))

    def destroy_stream(self, stream: int) -> None:
        with _reported("cudaStreamDestroy"):
            self._cuda.streamDestroy(stream)

    def synchronize(self, stream: int) -> None:
        with _reported("cudaStreamSynchronize"):
            self._cuda.streamSynchronize(stream)

    def create_event(self) -> int:
        with _reported("cudaEventCreateWithFlags"):
            return int(self._cuda.eventCreateWithFlags(_NO_TIMING))

    def destroy_event(self, event: int) -> None:
        with _reported("cudaEventDestroy"):
            self._cuda.eventDestroy(event)

    def record(self, event: int, stream: int) -> None:
        with _reported("cudaEventRecord"):
            self._cuda.eventRecord(event, stream)

    def is_past(self, event: int) -> bool:
        with _reported("cudaEventQuery"):
            return bool(self._cuda.eventQuery(event) == 0)

    def wait(self, event: int) -> None:
        with _reported("cudaEventSynchronize"):
            self._cuda.eventSynchronize(event)

    def stream_wait(self, stream: int, event: int) -> None:
        with _reported("cudaStreamWaitEvent"):
            self._cuda.streamWaitEvent(stream, event)

    def allocate(self, nbytes: int) -> int:
        with _reported("cudaMalloc"):
            return int(self._cuda.malloc(nbytes))

    def free(self, address: int) -> None:
        with _reported("cudaFree"):
            self._cuda.free(address)

    def allocate_pinned(self, nbytes: int) -> int:
        with _reported("cudaHostAlloc"):
            return int(self._cuda.hostAlloc(nbytes, _PORTABLE))

    def free_pinned(self, address: int) -> None:
        with _reported("cudaFreeHost"):
            self._cuda.freeHost(address)

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        with _reported("cudaMemcpyAsync"):
            self._cuda.memcpyAsync(target, source, nbytes, _ANY_DIRECTION, stream)

    def load(self, unit: KernelSource) -> Any:
        code = compile_unit(unit, self.architecture).code
        with _reported("cuModuleLoadData"):
            module = _cupy.cuda.function.Module()
            module.load(code)
            return module.get_function(unit.kernel), module

    def launch(self, kernel: Any, blocks: int, words: list[np.generic], stream: int) -> None:
        # The driver takes an array of pointers to the arguments.
        values = np.zeros((len(words), 8), np.uint8)
        for place, word in zip(values, words, strict=True):
            place[: word.nbytes] = np.frombuffer(word.tobytes(), np.uint8)
        pointers = np.arange(len(words), dtype=np.uint64) * 8 + np.uint64(values.ctypes.data)
        with _reported("cuLaunchKernel"):
            self._driver.launchKernel(
                kernel[0].ptr, blocks, 1, 1, THREADS, 1, 1, 0, stream, pointers.ctypes.data, 0
            )

    def memory(self) -> tuple[int, int]:
        with _reported("cudaMemGetInfo"):
            free, total = self._cuda.memGetInfo()
        return int(free), int(total)

    def external(self, data: Any, stream: int) -> tuple[int, tuple[int, ...], np.dtype[Any], Any]:
        with _reported("taking an array of another library"):
            try:
                with self._as_current(stream):
                    dense = getattr(data, "__dlpack__", None)
                    array = _cupy.from_dlpack(data) if dense else _cupy.asarray(data)
                    array = _cupy.ascontiguousarray(array)
                dtype = DType.from_numpy(np.dtype(array.dtype)).numpy
            except (TypeError, ValueError, BufferError, AttributeError) as error:
                raise wrong_type("", "an array on a GPU", f"{describe(data)}: {error}") from error
        number = int(array.device.id)
        if number != self.number:
            raise wrong_type("", f"an array on gpu:{self.number}", f"gpu:{number}")
        return int(array.data.ptr), tuple(map(int, array.shape)), dtype, (data, array)

    def _as_current(self, stream: int) -> Any:
        """The stream as CuPy's current one, in a `with` block."""
        cuda = _cupy.cuda
        if hasattr(cuda.Stream, "from_external"):  # since CuPy 14, which warns of the other
            return cuda.Stream.from_external(_Named(stream))
        return cuda.ExternalStream(stream)

    def dlpack(self, array: Any) -> Any:
        with _reported("handing an array to another library"):
            memory = _cupy.cuda.UnownedMemory(
                array.address, max(array.nbytes, 1), array, self.number
            )
            place = _cupy.cuda.MemoryPointer(memory, 0)
            # Not `asarray`, which would wait for the stream.
            return _cupy.ndarray(array.shape, array.dtype, place).__dlpack__(stream=-1)


class _Named:
    """A stream by its handle, as other libraries take one."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


class _reported:  # noqa: N801  used like a function; faster than a generator
    """What CUDA reports in this block as OperatorRuntimeError, which names the function; a want of
    memory as MemoryError."""

    __slots__ = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, RuntimeError) or isinstance(error, GradivaError):
            return
        if getattr(error, "status", None) == _NO_MEMORY:
            raise MemoryError(str(error)) from None
        reason = str(error).strip().splitlines()[0]
        raise OperatorRuntimeError(
            f"{self.function}: {reason} (the cause may be work that was queued before)"
        ) from error


runtimes: list[Callable[[int], Runtime]] = [CupyRuntime]
"""Makes the runtime of a GPU: the last one. Tests put a simulated device here."""

_gpus: dict[tuple[Any, int], Gpu] = {}
_making = threading.Lock()
_lost: list[Gpu] = []
"""GPUs that were in use in the process that this one was forked from; kept, since nothing of them
may be given back here."""


def gpu_at(number: int) -> Gpu:
    """The GPU of this number. Raises OperatorRuntimeError if there is none."""
    make = runtimes[-1]
    found = _gpus.get((make, number))
    if found is None:
        if _lost:
            raise OperatorRuntimeError(
                "it was in use before this process was forked, and CUDA does not survive that; "
                "start processes by 'spawn' or 'forkserver'"
            )
        with _making:
            found = _gpus.get((make, number))
            if found is None:
                found = _gpus[make, number] = Gpu(make(number))
    return found


@atexit.register
def _close() -> None:
    for gpu in list(_gpus.values()):
        with contextlib.suppress(OperatorRuntimeError):  # CUDA may be gone already
            gpu.close()


def _forget_after_fork() -> None:
    """In the child, whose CUDA is unusable, and where locks may be held by threads not there."""
    global _making
    _making = threading.Lock()
    _lost.extend(_gpus.values())
    _gpus.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def known_gpus() -> list[Gpu]:
    """The GPUs that are in use in this process, in order of their numbers."""
    make = runtimes[-1]
    return [gpu for (maker, _), gpu in sorted(_gpus.items(), key=_by_number) if maker is make]


def _by_number(entry: tuple[tuple[Any, int], Gpu]) -> int:
    return entry[0][1]


def count_gpus() -> int:
    """How many GPUs there are that gradiva can use."""
    number = 0
    while True:
        try:
            runtimes[-1](number)
        except OperatorRuntimeError:
            return number
        number += 1


def gpu_of(device: Device) -> Gpu:
    """The GPU that a device names. Raises OperatorRuntimeError if there is none."""
    try:
        return gpu_at(device.device_id or 0)
    except OperatorRuntimeError as error:
        raise OperatorRuntimeError(
            f"device '{device}' is not available: {error.problem}; leave out `device` or pass "
            "device='cpu'"
        ) from error


find_gpu.fill(gpu_of)
