"""Batches for a trainer on the machine of its loader: it reads them where they were made.

A loader has its memory in blocks that other processes can map. What it is asked for from its own
machine it does not send: it says where the arrays lie, and keeps them. The trainer makes arrays on
that memory, and when the last one is gone, it says so with one of its next requests. So nothing is
copied, and nothing goes through a store of objects.

A trainer that dies says nothing: the loader looks whether it is there. A loader that dies takes
nothing along: what the trainer has mapped stays. And a loader keeps no more than `MOST` bytes: what
is asked for beyond is sent.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
import uuid
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.runtime.host_memory import pool
from gradiva.eager.runtime.shared_blocks import Place, SharedBlocks, can_share, map_block
from gradiva.eager.types.arrays import Array

from .loaded_batch import LoadedBatch

__all__ = ["MOST", "Exporter", "Importer", "Reader", "SharedArray", "importer"]

MOST: Final = 1 << 30
"""Bytes that a loader exports at a time."""
_LEAST: Final = 1 << 16
"""Smaller arrays are sent with the answer."""
_MAPPED: Final = 64
"""Blocks that a trainer keeps mapped: loaders use them again."""
_FORGOTTEN: Final = 1024


class Reader(NamedTuple):
    """Who asks. machine: which can map the same memory; process: its number; name: of it; number:
    of the request; done: requests of it, to this loader, whose arrays are gone."""

    machine: str
    process: int
    name: str
    number: int
    done: tuple[int, ...] = ()


class SharedArray(NamedTuple):
    """An array that stays where it is, in the place of one."""

    place: Place
    shape: tuple[int, ...]
    dtype: str


@functools.cache
def machine() -> str:
    """What processes have in common that can map the memory of each other; empty where none can."""
    if not can_share():
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "user")]
    except OSError:
        return ""
    return " ".join((boot, *spaces, str(os.geteuid())))


class Exporter:
    """What a loader exports."""

    def __init__(self, most: int = MOST) -> None:
        self.name = uuid.uuid4().hex
        self._most = most
        self._lock = threading.Lock()
        self._exported: dict[tuple[str, int], list[Array]] = {}
        self._forgotten: OrderedDict[tuple[str, int], None] = OrderedDict()
        """Requests that nobody waits for, before they were answered."""
        self._processes: dict[str, int] = {}
        self._blocks = SharedBlocks()
        if machine():
            pool.share(self._blocks)

    @property
    def nbytes(self) -> int:
        """How many are exported."""
        return sum(array.nbytes for arrays in list(self._exported.values()) for array in arrays)

    def export(self, made: LoadedBatch, reader: Reader) -> LoadedBatch:
        """The answer to a request: without the arrays that are exported."""
        with self._lock:
            self._take_back(reader)
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
        return made._replace(columns=columns, exporter=self.name)

    def _place(self, array: Array) -> Place | None:
        plain = np.dtype(array.dtype.str) == array.dtype and array.flags.c_contiguous
        return self._blocks.place_of(array) if plain and array.nbytes >= _LEAST else None

    def _take_back(self, reader: Reader) -> None:
        """What the reader does not need any more, and what those had who are gone."""
        for number in reader.done:
            request = reader.name, number
            if self._exported.pop(request, None) is None:
                self._forgotten[request] = None
        while len(self._forgotten) > _FORGOTTEN:
            self._forgotten.popitem(last=False)
        for name, process in list(self._processes.items()):
            if not os.path.exists(f"/proc/{process}"):
                del self._processes[name]
                for request in [one for one in self._exported if one[0] == name]:
                    del self._exported[request]


def _shared_array(array: Array, place: Place) -> Any:
    return SharedArray(place, array.shape, array.dtype.str)


class _Held:
    """Lives as long as an array of one answer."""

    __slots__ = ("__weakref__",)


class _End(weakref.ref[_Held]):
    """What is left of it. number: of the request."""

    __slots__ = ("number",)
    number: int


class _Piece:
    """Owner of an array on exported memory."""

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
    """What a trainer's process has of loaders. Safe from any thread.

    Arrays may go in any thread and at any moment: a method of C notes it, as in `host_memory`.
    """

    def __init__(self) -> None:
        self._name = uuid.uuid4().hex
        self._process = os.getpid()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._mapped: OrderedDict[tuple[str, int], Array] = OrderedDict()
        self._ended: defaultdict[str, deque[_End]] = defaultdict(deque)
        self._ends: dict[int, _End] = {}
        """Weak references that wait have to be held."""

    def request(self, exporter: str, forgotten: Iterable[int] = ()) -> Reader | None:
        """For the next request, to the loader of this `exporter` (empty: not known), with what it
        can have back. forgotten: requests of whose answers nothing was taken. None where nothing
        can be exported."""
        if not machine() or self._process != os.getpid():
            return None
        done = list(forgotten)
        ended = self._ended[exporter] if exporter else deque[_End]()
        while ended:
            end = ended.popleft()
            done.append(end.number)
            self._ends.pop(end.number, None)
        return Reader(machine(), self._process, self._name, next(self._numbers), tuple(done))

    def take(self, made: LoadedBatch, number: int) -> LoadedBatch:
        """The answer to the request of this number, with arrays. Raises OSError if they are not
        there, or may not be opened."""
        if not made.exporter:
            return made
        held = _Held()
        blocks = [
            self._block(made.exporter, column.data.place)
            if isinstance(column.data, SharedArray)
            else None
            for column in made.columns
        ]
        end = _End(held, self._ended[made.exporter].append)
        end.number = number
        self._ends[number] = end
        columns = tuple(
            column
            if block is None
            else column._replace(data=np.asarray(_Piece(column.data, block, held)))
            for column, block in zip(made.columns, blocks, strict=True)
        )
        return made._replace(columns=columns)

    def _block(self, exporter: str, place: Place) -> Array:
        known = exporter, place.serial
        with self._lock:
            block = self._mapped.get(known)
            if block is None:
                block = self._mapped[known] = map_block(place)
                while len(self._mapped) > _MAPPED:
                    self._mapped.popitem(last=False)
            self._mapped.move_to_end(known)
        return block


_importer: Importer | None = None


def importer() -> Importer:
    """That of this process."""
    global _importer
    if _importer is None or _importer._process != os.getpid():
        _importer = Importer()
    return _importer
