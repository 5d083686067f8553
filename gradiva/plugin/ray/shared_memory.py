"""Shared memory for a trainer and a loader on the same machine: the trainer reads batches in place.

A loader allocates memory in blocks that other processes can map. For a trainer on its own machine
it does not send the arrays: it says where they are, and keeps them. The trainer creates arrays on
that memory, and when the last one has been freed, it reports this with one of its next requests. So
nothing is copied, and nothing goes through an object store.

A trainer that dies does not report anything: the loader checks whether it still exists. If a loader
dies, the memory that the trainer has mapped stays valid. A loader keeps at most `MOST` bytes:
further batches are sent.
"""

from __future__ import annotations

import functools
import os
import threading
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from gradiva.eager.runtime.host_memory import pool
from gradiva.eager.runtime.shared_blocks import BlockLocation, SharedBlocks, can_share, map_block
from gradiva.eager.types.arrays import Array

from .loaded_batch import LoadedBatch

T = TypeVar("T")

__all__ = ["MOST", "Exporter", "Importer", "Reader", "SharedArray", "importer"]

MOST: Final = 1 << 30
"""Bytes that a loader exports at a time, and that a trainer keeps mapped: loaders reuse the same
blocks."""
_LEAST: Final = 1 << 16
"""Smaller arrays are sent with the answer."""
_FORGOTTEN: Final = 1024


class Reader(NamedTuple):
    """The identity of a reader. machine: an identifier that is equal for processes that can map the
    same memory, empty if arrays are to be sent; process: its number and start time; name: its name;
    number: of the request; done: earlier requests to this loader whose arrays have been freed."""

    machine: str
    process: tuple[int, str]
    name: str
    number: int
    done: tuple[int, ...] = ()


class SharedArray(NamedTuple):
    """Stands for an array that stays in the memory of its loader."""

    place: BlockLocation
    shape: tuple[int, ...]
    dtype: str


@functools.cache
def machine() -> str:
    """An identifier that is equal for processes that can map each other's memory; empty if none
    can."""
    if not can_share():
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "user")]
        same = os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return ""
    # Otherwise the process numbers are not those in /proc.
    return " ".join((boot, *spaces, str(os.geteuid()))) if same else ""


def began(process: int) -> str:
    """The start time of a process, as Linux reports it. It distinguishes processes with the same
    number. Empty for a process that has ended."""
    try:
        with open(f"/proc/{process}/stat") as file:
            facts = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if facts[0] in "ZX" else facts[19]


class Exporter:
    """What a loader exports."""

    def __init__(self, most: int = MOST) -> None:
        self.name = uuid.uuid4().hex
        self._most = most
        self._lock = threading.Lock()
        self._exported: dict[tuple[str, int], list[Array]] = {}
        self._forgotten: OrderedDict[tuple[str, int], None] = OrderedDict()
        """Requests that were abandoned before they were answered."""
        self._processes: dict[str, tuple[int, str]] = {}
        self._blocks: SharedBlocks | None = None
        """The time from which on the arrays can be mapped."""

    @property
    def nbytes(self) -> int:
        """The number of exported arrays."""
        return sum(array.nbytes for arrays in list(self._exported.values()) for array in arrays)

    def export(self, made: LoadedBatch, reader: Reader) -> LoadedBatch:
        """The answer to the request with this name, without the arrays that are exported."""
        made = made._replace(exporter=self.name)
        with self._lock:
            request = reader.name, reader.number
            forgotten = self._forgotten.pop(request, request) is None
            if forgotten or not machine() or reader.machine != machine():
                return made
            places = [self._place(column.data) for column in made.columns]
            arrays = [
                column.data
                for column, place in zip(made.columns, places, strict=True)
                if place is not None
            ]
            if not arrays or self.nbytes + sum(array.nbytes for array in arrays) > self._most:
                return made
            self._exported[request] = arrays
            self._processes[reader.name] = reader.process
        columns = tuple(
            column if place is None else column._replace(data=_shared_array(column.data, place))
            for column, place in zip(made.columns, places, strict=True)
        )
        return made._replace(columns=columns)

    def _place(self, array: Array) -> BlockLocation | None:
        plain = np.dtype(array.dtype.str) == array.dtype and array.flags.c_contiguous
        if self._blocks is None or not plain or array.nbytes < _LEAST:
            return None
        return self._blocks.place_of(array)

    def take_back(self, reader: Reader) -> None:
        """Called before a request is answered: free what the reader no longer needs, and what
        readers that have ended had."""
        with self._lock:
            if self._blocks is None and machine() and reader.machine == machine():
                self._blocks = SharedBlocks()
                pool.share(self._blocks)
            for number in reader.done:
                request = reader.name, number
                if self._exported.pop(request, None) is None:
                    self._forgotten[request] = None
            while len(self._forgotten) > _FORGOTTEN:
                self._forgotten.popitem(last=False)
            for name, (process, since) in list(self._processes.items()):
                if began(process) != since:
                    del self._processes[name]
                    for request in [one for one in self._exported if one[0] == name]:
                        del self._exported[request]


def _shared_array(array: Array, place: BlockLocation) -> Any:
    return SharedArray(place, array.shape, array.dtype.str)


class _Held:
    """Exists as long as an array of one answer."""

    __slots__ = ("__weakref__",)


class _EndOfBlock(weakref.ref[_Held]):
    """What is left of it. number: of the request."""

    __slots__ = ("number",)
    number: int


class _Piece:
    """The owner of an array in exported memory."""

    __slots__ = ("__array_interface__", "block", "held")

    def __init__(self, exported: SharedArray, block: Array, held: _Held) -> None:
        self.block, self.held = block, held
        self.__array_interface__ = {
            "data": (block.ctypes.data + exported.place.offset, True),
            "shape": exported.shape,
            "typestr": exported.dtype,
            "version": 3,
        }


class Importer:
    """What a trainer's process has of loaders, which have keys. Safe from any thread.

    Arrays may go in any thread and at any moment: a method of C notes it, as in `host_memory`.
    """

    def __init__(self) -> None:
        self._name = uuid.uuid4().hex
        self._process = os.getpid()
        self._began = began(self._process)
        self._exporters: dict[str, str] = {}
        """The names of loaders, from their last answers. A restarted loader has another name."""
        self._forgotten: dict[str, deque[int]] = {}
        self._requests = 0
        self._lock = threading.Lock()
        self._mapped: OrderedDict[tuple[str, int], Array] = OrderedDict()
        self._ended: dict[str, deque[_EndOfBlock]] = {}
        self._ends: dict[int, _EndOfBlock] = {}
        """Keeps weak references alive until they are processed."""

    def request(self, loader: str, share: bool = True) -> Reader | None:
        """The data for the next request to this loader, with what it can free; with `share`, its
        answer may stay in its own memory. None if shared memory cannot be used."""
        if not machine() or self._process != os.getpid():
            return None
        done = [*_taken(_queue(self._forgotten, loader))]
        for end in _taken(_queue(self._ended, self._exporters.get(loader, ""))):
            done.append(end.number)
            self._ends.pop(end.number, None)
        where = machine() if share else ""
        process = self._process, self._began
        with self._lock:
            number, self._requests = self._requests, self._requests + 1
        return Reader(where, process, self._name, number, tuple(done))

    def waits_for(self, loader: str) -> bool:
        """Whether a loader can free anything."""
        ended = _queue(self._ended, self._exporters.get(loader, ""))
        return bool(_queue(self._forgotten, loader) or ended)

    def forget(self, loader: str, *numbers: int) -> None:
        """The answers to these requests are no longer needed."""
        _queue(self._forgotten, loader).extend(numbers)

    def take(self, made: LoadedBatch, loader: str, number: int) -> LoadedBatch:
        """The answer to the request of this number, with arrays. Raises OSError if they do not
        exist any more, or may not be opened."""
        before = self._exporters.get(loader)
        self._exporters[loader] = made.exporter
        if before not in (None, made.exporter):
            self.unmap(before)
        arrays: list[Any] = [column.data for column in made.columns]
        shared = [array for array in arrays if isinstance(array, SharedArray)]
        if not shared:
            return made
        held = _Held()
        blocks = {array.place: self._block(made.exporter, array.place) for array in shared}
        end = _EndOfBlock(held, _queue(self._ended, made.exporter).append)
        end.number = number
        self._ends[number] = end
        columns = tuple(
            column._replace(data=np.asarray(_Piece(array, blocks[array.place], held)))
            if isinstance(array, SharedArray)
            else column
            for column, array in zip(made.columns, arrays, strict=True)
        )
        return made._replace(columns=columns)

    def _block(self, exporter: str, place: BlockLocation) -> Array:
        known = exporter, place.serial
        with self._lock:
            block = self._mapped.get(known)
            if block is None:
                block = self._mapped[known] = map_block(place)
                while sum(one.nbytes for one in self._mapped.values()) > MOST:
                    self._mapped.popitem(last=False)
                self._mapped[known] = block
            self._mapped.move_to_end(known)
        return block

    def unmap(self, exporter: str | None) -> None:
        """Unmap the blocks of a loader that has ended."""
        with self._lock:
            for known in [one for one in self._mapped if one[0] == exporter]:
                del self._mapped[known]


def _queue(queues: dict[str, deque[T]], name: str) -> deque[T]:
    """The queue of a name, which is made if it is not there: one for all threads."""
    found = queues.get(name)
    return queues.setdefault(name, deque()) if found is None else found


def _taken(queue: deque[Any]) -> Iterator[Any]:
    """All items in a queue that other threads may also read."""
    while True:
        try:
            yield queue.popleft()
        except IndexError:
            return


_importer: Importer | None = None
_making = threading.Lock()


def importer() -> Importer:
    """The one of this process."""
    global _importer
    found = _importer
    if found is None or found._process != os.getpid():
        with _making:
            found = _importer
            if found is None or found._process != os.getpid():
                _importer = found = Importer()
    return found


def _after_fork() -> None:
    """In the child: another thread of the parent may have held the lock."""
    global _making
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
