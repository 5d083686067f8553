"""CuPy, loaded on first need: this is the only file that imports it. Launching kernels on a GPU.

What has run so far is this file over a recorded fake of CuPy; docs/gpu.md says what has not.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .errors import OperatorRuntimeError
from .gpu.launch import THREADS, Launch, Out, Unit
from .gpu.nvrtc import compile_unit
from .gpu.presence import EXTRAS, missing
from .lazy import lazy_module

__all__ = ["Held", "Launcher", "require_gpu"]

_ALIGNED: Final = 256

_cupy: Any = lazy_module("cupy", EXTRAS)


def require_gpu(number: int) -> None:
    """Raises OperatorRuntimeError, with what is to be done, if there is no GPU of this number."""
    lack = missing()
    if lack is not None:
        raise OperatorRuntimeError(f"a GPU was asked for, and {lack}")
    try:
        count = _cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise OperatorRuntimeError(f"a GPU was asked for, and CuPy finds none: {reason}") from None
    if number >= count:
        raise OperatorRuntimeError(f"GPU {number} was asked for, and there are {count} GPUs")


class Held:
    """What must stay as it is until the GPU has passed a point: CuPy's pools would hand memory out
    again as soon as Python lets go of it, with no regard to other streams. Not for several threads
    at once."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def hold(self, event: Any, *things: Any) -> None:
        """Keep `things` until `event`, which was recorded after their last use, is done."""
        self._waiting.append((event, things))

    def sweep(self) -> None:
        """Let go of what the GPU has passed. Waits for nothing."""
        self._waiting = [entry for entry in self._waiting if not entry[0].done]

    def drain(self) -> None:
        """Wait for all events and let go of everything."""
        for event, _ in self._waiting:
            event.synchronize()
        self._waiting = []


class Launcher:
    """Launches kernels on one GPU, in the stream that is current in CuPy.

    number: of the GPU. Raises OperatorRuntimeError if there is none.
    """

    def __init__(self, number: int = 0) -> None:
        require_gpu(number)
        self._device = _cupy.cuda.Device(number)
        self._architecture = int(self._device.compute_capability)
        self._functions: dict[Unit, tuple[Any, Any]] = {}
        self._lock = threading.Lock()
        self.held = Held()

    def run(self, launches: Sequence[Launch]) -> None:
        """Queue launches in order. Their arrays are CuPy's, or NumPy's for tables, which travel in
        one copy for each launch. Returns before the GPU is done."""
        with self._lock, self._device:
            self.held.sweep()
            for launch in launches:
                if launch.blocks:
                    self._queue(launch)

    def run_here(self, launches: Sequence[Launch]) -> None:
        """Run launches on arrays in host memory: copy all that they read, wait, and copy what they
        made into their `Out`s. For tests."""
        with self._device:
            for launch in launches:
                # What a kernel leaves alone keeps its values.
                slabs = [
                    _cupy.asarray(one.data) if isinstance(one, Out) else None
                    for one in launch.arguments
                ]
                moved = tuple(
                    one if slab is None else Out(slab)
                    for one, slab in zip(launch.arguments, slabs, strict=True)
                )
                self.run([launch._replace(arguments=moved)])
                self.held.drain()
                for one, slab in zip(launch.arguments, slabs, strict=True):
                    if slab is not None:
                        one.data[...] = slab.get()

    def _queue(self, launch: Launch) -> None:
        stream = _cupy.cuda.get_current_stream()
        tables = [one for one in launch.arguments if isinstance(one, np.ndarray)]
        starts, size = _places(tables)
        pinned, slab = _cupy.cuda.alloc_pinned_memory(size), _cupy.cuda.alloc(size)
        staging = np.frombuffer(pinned, np.uint8, size)
        for table, start in zip(tables, starts, strict=True):
            staging[start : start + table.nbytes] = np.ascontiguousarray(table).view(np.uint8).flat
        slab.copy_from_host_async(pinned.ptr, size, stream)
        places = iter(starts)
        words: list[Any] = []
        arrays: list[Any] = []
        for argument in launch.arguments:
            if isinstance(argument, np.ndarray):
                words.append(np.uint64(slab.ptr + next(places)))
            elif isinstance(argument, np.generic):
                words.append(argument)
            else:
                array = argument.data if isinstance(argument, Out) else argument
                arrays.append(array)
                words.append(np.uint64(array.data.ptr))
        function = self._function(launch.unit)
        function((launch.blocks,), (THREADS,), tuple(words), stream=stream)
        event = _cupy.cuda.Event(disable_timing=True)
        event.record(stream)
        self.held.hold(event, pinned, slab, *arrays)

    def _function(self, unit: Unit) -> Any:
        """The kernel, loaded once; looking it up for each launch would take longer than that."""
        found = self._functions.get(unit)
        if found is None:
            module = _cupy.cuda.function.Module()
            module.load(compile_unit(unit, self._architecture).code)
            found = self._functions[unit] = (module.get_function(unit.kernel), module)
        return found[0]


def _places(tables: Sequence[np.ndarray[Any, Any]]) -> tuple[list[int], int]:
    """Where each table begins in one slab, and the slab's size, which is not 0."""
    starts, size = [], 0
    for table in tables:
        starts.append(size)
        size += -(-table.nbytes // _ALIGNED) * _ALIGNED
    return starts, max(size, _ALIGNED)
