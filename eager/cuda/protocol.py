"""The little of CUDA that gradiva needs, as a protocol.

eager/cuda/cupy_runtime.py fulfills it through CuPy. In the tests a simulated device does, which
runs kernels on the CPU and notes each access that no stream order, event or wait puts in its place.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .launch import KernelSource


class Runtime(Protocol):
    """One GPU. Streams, events and memory by number (cudaStream_t, cudaEvent_t, address).

    All methods may be called in any thread; `activate` must have been called there before. They
    raise OperatorRuntimeError for what CUDA reports, also of work that was queued earlier.
    """

    number: int
    """Which GPU."""

    architecture: int
    """Its compute capability, such as 90."""

    def activate(self) -> None:
        """Make the device current in the calling thread."""

    def create_stream(self, priority: int = 0) -> int:
        """A stream that does not wait for the null stream. priority: lower ones go first."""

    def destroy_stream(self, stream: int) -> None: ...

    def synchronize(self, stream: int) -> None:
        """Hold the calling thread until the stream has done all it was given, without the GIL."""

    def create_event(self) -> int:
        """An event without timing; one that was never recorded counts as past."""

    def destroy_event(self, event: int) -> None: ...

    def record(self, event: int, stream: int) -> None:
        """The event is past when all that was given to the stream so far is done."""

    def is_past(self, event: int) -> bool:
        """Whether the event is past. Does not wait."""

    def wait(self, event: int) -> None:
        """Hold the calling thread until the event is past, without the GIL."""

    def stream_wait(self, stream: int, event: int) -> None:
        """Hold what is given to the stream from now on until the event, as now recorded, is past.
        The calling thread goes on."""

    def allocate(self, nbytes: int) -> int:
        """Device memory. Raises MemoryError if there is none left."""

    def free(self, address: int) -> None:
        """Give memory back that nothing uses any more. May hold up the whole device."""

    def allocate_pinned(self, nbytes: int) -> int:
        """Host memory that the device copies from and to while both work. Raises MemoryError."""

    def free_pinned(self, address: int) -> None: ...

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Queue a copy between device memory and pinned memory, or within one of them."""

    def load(self, unit: KernelSource) -> Any:
        """A kernel, compiled and loaded, for `launch`."""

    def launch(self, kernel: Any, blocks: int, words: list[np.generic], stream: int) -> None:
        """Queue a kernel: `blocks` of THREADS threads. words: its arguments, addresses as
        np.uint64."""

    def memory(self) -> tuple[int, int]:
        """Bytes of device memory: free, and in all."""

    def external(self, data: Any, stream: int) -> tuple[int, tuple[int, ...], np.dtype[Any], Any]:
        """Memory of another library's array on this GPU: address of its elements in C order, shape,
        dtype, and what keeps them alive. What `stream` is given from now on comes after the work
        that made them. Raises OperatorTypeError."""

    def dlpack(self, array: Any) -> Any:
        """A DLPack capsule of a DeviceArray, which it keeps alive. Establishes no order."""
