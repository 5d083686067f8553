"""A GPU that is simulated: host memory, and kernels under the shim. Not a test itself.

It is as slow as it may be: what is given to a stream is done only when the host waits for it, so
that a missing wait shows as wrong values. And each access to a block of memory is compared with the
accesses before it (see `nvjpeg_clock`): one that nothing orders behind them is a violation.
"""

from __future__ import annotations

import bisect
import copy
import ctypes
import functools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.launch import THREADS, KernelSource
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError
from tests.ops.decoders.nvjpeg_clock import Clock, FakeGpu, merge

from .objects import library_of

_CONST = re.compile(r"^\s*const\b[^*]*\*")
_DEFINED = re.compile(r"^#define (\w+) (.+)$", re.MULTILINE)


class SimulatedRuntime(FakeGpu):
    """Fulfills the protocol `Runtime`. capacity: bytes of device memory. prompt: do everything at
    once, as a fast device may."""

    architecture = 90

    def __init__(self, number: int = 0, capacity: int = 1 << 30, prompt: bool = False) -> None:
        super().__init__()
        self.number = number
        self.capacity = capacity
        self.prompt = prompt
        self.used = 0
        self.launched: list[str] = []
        self.copies = 0
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self._graves: list[np.ndarray[Any, Any]] = []
        self._device: set[int] = set()
        self._starts: list[int] = []
        self._queues: dict[int, list[Any]] = {}
        self._done: dict[int, int] = {}
        self._marks: dict[int, tuple[int, int]] = {}
        self._readers: dict[int, Clock] = {}
        self._parts: dict[int, dict[tuple[int, int], Clock]] = {}
        """Who has written only a part of a block: several may, at once, if the parts differ."""

    def activate(self) -> None:
        super().activate()
        self.local.number = self.number

    def check_current(self, what: str) -> None:
        """It takes the device that is current in this thread for its own."""
        self.check_active(what)
        if getattr(self.local, "number", self.number) != self.number:
            self.wrong(f"{what} for gpu:{self.number} while gpu:{self.local.number} is current")

    # Streams and events: the clock is `FakeGpu`'s, the work is queued here.

    def create_stream(self, priority: int = 0) -> int:
        with self.lock:
            stream = super().create_stream()
            self._queues[stream], self._done[stream] = [], 0
            return stream

    def destroy_stream(self, stream: int) -> None:
        with self.lock:
            super().destroy_stream(stream)
            del self._queues[stream]

    def _lent(self, stream: int) -> None:
        """The legacy stream, and those of other libraries, are there without being created."""
        if stream not in self.streams:
            self.streams[stream], self.ticks[stream] = {}, 0
            self._queues[stream], self._done[stream] = [], 0

    def record(self, event: int, stream: int) -> None:
        with self.lock:
            (self.check_current if stream <= 2 else self.check_active)("record")
            self._lent(stream)
            super().record(event, stream)
            self._marks[event] = stream, len(self._queues[stream])

    def is_past(self, event: int) -> bool:
        with self.lock:
            clock = self.events[event]
            if event in self._marks:
                stream, place = self._marks[event]
                if self._done.get(stream, 1 << 60) < place:
                    return False
            merge(self.host, clock)
            return True

    def wait(self, event: int) -> None:
        with self.lock:
            super().wait(event)
            if event in self._marks:
                self._run(*self._marks[event])

    def stream_wait(self, stream: int, event: int) -> None:
        with self.lock:
            self._lent(stream)
            super().stream_wait(stream, event)
            mark = self._marks.get(event)
            if mark is not None and mark[0] != stream:
                self.give(stream, lambda: self._run(*mark))

    def synchronize(self, stream: int) -> None:
        with self.lock:
            self._lent(stream)
            self._run(stream, len(self._queues[stream]))
            clock = dict(self.streams[stream])
            clock[stream] = self.ticks[stream]
            merge(self.host, clock)

    def give(self, stream: int, work: Callable[[], None]) -> None:
        self._queues[stream].append(work)
        if self.prompt:
            self._run(stream, len(self._queues[stream]))

    def _run(self, stream: int, end: int) -> None:
        """Do what a stream was given, up to some place."""
        queue = self._queues.get(stream, [])
        while self._done[stream] < end:
            work = queue[self._done[stream]]
            self._done[stream] += 1
            work()

    # Memory.

    def _new(self, nbytes: int) -> int:
        memory = np.full(nbytes + 256, 0xA5, np.uint8)
        address = -(-memory.ctypes.data // 256) * 256
        self._blocks[address] = memory[address - memory.ctypes.data :][:nbytes]
        bisect.insort(self._starts, address)
        return address

    def _drop(self, address: int) -> None:
        if self._pending(address):
            self.wrong(f"{address:#x} is freed while a stream may be at it")
            self._graves.append(self._blocks[address])  # what is late would crash the interpreter
        for clock in (self.last, self._readers, self._parts):
            clock.pop(address, None)
        self._starts.remove(address)
        del self._blocks[address]

    def _pending(self, address: int) -> bool:
        parts = self._parts.get(address, {}).values()
        clocks = (self.last.get(address, {}), self._readers.get(address, {}), *parts)
        return any(self.host.get(s, 0) < tick for clock in clocks for s, tick in clock.items())

    def allocate(self, nbytes: int) -> int:
        with self.lock:
            self.check_current("allocate")
            if self.used + nbytes > self.capacity:
                raise MemoryError
            self.used += nbytes
            address = self._new(nbytes)
            self._device.add(address)
            return address

    def free(self, address: int) -> None:
        with self.lock:
            self.used -= self._blocks[address].size
            self._device.remove(address)
            self._drop(address)

    def allocate_pinned(self, nbytes: int) -> int:
        with self.lock:
            return self._new(nbytes)

    def free_pinned(self, address: int) -> None:
        with self.lock:
            self._drop(address)

    def memory(self) -> tuple[int, int]:
        return self.capacity - self.used, self.capacity

    def _block(self, address: int) -> int | None:
        place = bisect.bisect_right(self._starts, address) - 1
        start = self._starts[place] if place >= 0 else -1
        return start if place >= 0 and address <= start + self._blocks[start].size else None

    def _touch(
        self,
        stream: int,
        what: str,
        reads: list[int],
        writes: list[int],
        part: tuple[int, int] | None = None,
    ) -> None:
        """An operation given to a stream: is it in order with those that touch the same blocks?

        part: first address and the one behind the last, where not all of a block is written.
        """
        self.check_active(what)
        clock = self.streams[stream]
        merge(clock, self.host)
        own = clock | {stream: self.ticks[stream]}
        for block in (*reads, *writes):
            self._after(block, own, what)
        for block in reads:
            self._after_parts(block, own, what, None)
        for block in writes:
            self._after_parts(block, own, what, part)
            for other, tick in self._readers.get(block, {}).items():
                if own.get(other, 0) < tick:
                    self.wrong(f"{what} writes {block:#x} while stream {other} may read it")
        self.ticks[stream] += 1
        clock[stream] = self.ticks[stream]
        for block in reads:
            self._readers.setdefault(block, {})[stream] = self.ticks[stream]
        for block in writes:
            if part is None:
                self._parts.pop(block, None)  # it comes after them, or that was noted
                self.last.setdefault(block, {})[stream] = self.ticks[stream]
            else:
                parts = self._parts.setdefault(block, {})
                parts.setdefault(part, {})[stream] = self.ticks[stream]

    def _after_parts(
        self, block: int, clock: Clock, what: str, part: tuple[int, int] | None
    ) -> None:
        """Does it come after all that has written there?"""
        for (low, high), writers in self._parts.get(block, {}).items():
            apart = part is not None and (high <= part[0] or part[1] <= low)
            for stream, tick in writers.items():
                if not apart and clock.get(stream, 0) < tick:
                    self.wrong(f"{what} touches {block:#x} while stream {stream} may write there")

    def on_device(self, stream: int, what: str, *things: Any, reads: Any = None) -> None:
        """An operation of the stand-in for nvJPEG. Things ("pixels", first, end) are memory."""
        with self.lock:
            others = [one for one in things if not (isinstance(one, tuple) and len(one) == 3)]
            super().on_device(stream, what, *others, reads=reads)
            for thing in things:
                if thing not in others:
                    _, first, end = thing
                    block = self._block(first)
                    if block is None or end > block + self._blocks[block].size:
                        self.wrong(f"{what} writes from {first:#x} to {end:#x}: not its memory")
                    else:
                        self._touch(stream, what, [], [block], (first, end))

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        with self.lock:
            self.copies += 1
            self._lent(stream)
            for address in (target, source):
                start = self._block(address)
                if start is None or address + nbytes > start + self._blocks[start].size:
                    self.wrong(f"a copy of {nbytes} bytes at {address:#x} leaves its memory")
                    return
            into, out_of = self._block(target), self._block(source)
            self._touch(stream, "copy", [out_of], [into], (target, target + nbytes))  # type: ignore[list-item]

            def work() -> None:
                ctypes.memmove(target, source, nbytes)

            self.give(stream, work)

    # Kernels.

    def load(self, unit: KernelSource) -> Any:
        text = unit.text[unit.text.index(f"KERNEL({unit.kernel})") :]
        given = text[text.index(")(") + 2 : text.index("{")].rsplit(")", 1)[0]
        for name, meant in _DEFINED.findall(unit.text):
            given = re.sub(rf"\b{name}\b", meant, given)
        kinds = [
            "value" if "*" not in word else "read" if _CONST.match(word) else "write"
            for word in given.split(",")
        ]
        return unit.kernel, kinds, _loaded(unit)

    def launch(self, kernel: Any, blocks: int, words: list[np.generic], stream: int) -> None:
        name, kinds, function = kernel
        with self.lock:
            self.check_current(name)
            self.launched.append(name)
            self._lent(stream)
            assert len(words) == len(kinds), (name, len(words), kinds)
            touched: dict[str, list[int]] = {"read": [], "write": []}
            for word, kind in zip(words, kinds, strict=True):
                if kind != "value":
                    block = self._block(int(word))
                    if block is not None:
                        touched[kind].append(block)
            self._touch(stream, name, touched["read"], touched["write"])
            values = [np.frombuffer(word.tobytes(), np.uint8).copy() for word in words]
            pointers = (ctypes.c_void_p * len(words))(*(value.ctypes.data for value in values))

            def work() -> None:
                with _one_kernel:
                    function(ctypes.byref(pointers), blocks, THREADS, False)
                del values[:]

            self.give(stream, work)

    # Other libraries.

    def external(self, data: Any, stream: int) -> tuple[int, tuple[int, ...], np.dtype[Any], Any]:
        interface = data.__cuda_array_interface__
        if interface.get("strides") is not None:
            raise OperatorTypeError(expected="an array on a GPU", got="strides")
        other = interface.get("stream")
        if other is not None:
            event = self.create_event()
            self.record(event, other)
            self.stream_wait(stream, event)
        address = int(interface["data"][0])
        return address, tuple(interface["shape"]), np.dtype(interface["typestr"]), data

    def dlpack(self, array: Any) -> Any:
        return np.asarray(_InHostMemory(array)).__dlpack__()


_one_kernel = threading.Lock()
"""The shim has its threads and blocks in global variables. What is left of the GPU of an earlier
test may be synchronized by the closer while the next one has another GPU, and another lock."""


class _InHostMemory:
    """An array of the simulated device as NumPy sees it; keeps it alive."""

    def __init__(self, array: Any) -> None:
        self.array = array
        given = array.__cuda_array_interface__
        self.__array_interface__ = {key: given[key] for key in ("shape", "typestr", "data")}
        self.__array_interface__["version"] = 3


@functools.cache
def _loaded(unit: KernelSource) -> Any:
    """A kernel as a function (pointers to its arguments, blocks, threads, whether backward)."""
    path, name = library_of(unit)
    function = ctypes.CDLL(str(path))[name]
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_bool]
    function.restype = None
    return function


@contextmanager
def simulated(
    count: int = 1, capacity: int = 1 << 30, prompt: bool = False
) -> Iterator[SimulatedRuntime]:
    """Let there be `count` GPUs in this block; the first one is returned. At the end nothing may
    have been touched out of order, and all memory must come back."""
    runtimes = [SimulatedRuntime(0, capacity, prompt)]
    for number in range(1, count):
        # One machine: all know the memory, streams and events of the others.
        runtimes.append(copy.copy(runtimes[0]))
        runtimes[-1].number = number

    def make(number: int) -> Any:
        if number >= count:
            text = f"there are {count} GPUs, and this is number {number}"
            raise OperatorRuntimeError(text)
        return runtimes[number]

    cupy_runtime.runtimes.append(make)
    try:
        yield runtimes[0]
    finally:
        cupy_runtime.runtimes.pop()
        gpus: list[Gpu] = [
            cupy_runtime._gpus.pop(key) for key in list(cupy_runtime._gpus) if key[0] is make
        ]
    for gpu in gpus:
        gpu.close()
    for runtime in runtimes:
        assert not runtime.violations, runtime.violations
    for gpu in gpus:
        gpu.memory.release()
        gpu.pinned.release()
