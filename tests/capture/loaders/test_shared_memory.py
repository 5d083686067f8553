"""Batches that a trainer reads where its loader has made them, without Ray."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradiva.capture.loaders import shared_memory
from gradiva.capture.loaders.delivery import LoaderLostError
from gradiva.capture.loaders.loaded_batch import Column, LoadedBatch
from gradiva.capture.loaders.shared_memory import Exporter, Importer, Reader, SharedArray
from gradiva.eager.readers.source import Part
from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.shared_blocks import map_block
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.plugin.ray import transport

pytestmark = pytest.mark.skipif(not shared_memory.machine(), reason="no memory can be shared here")

COUNT = 1 << 20


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> MemoryPool:
    made = MemoryPool()
    monkeypatch.setattr(shared_memory, "pool", made)
    return made


def batch(pool: MemoryPool, value: int = 7) -> LoadedBatch:
    """Images in memory of the pool, and labels."""
    images = pool.allocate(COUNT).reshape(4, -1)
    images[:] = value
    return LoadedBatch((Column(images, None, "HWC"), Column(np.arange(4), None, "")))


def sent(exporter: Exporter, made: LoadedBatch, reader: Reader | None) -> LoadedBatch:
    assert reader is not None
    content = pickle.dumps(exporter.export(made, reader))
    found: LoadedBatch = pickle.loads(content)
    return found


def test_nothing_is_copied(pool: MemoryPool) -> None:
    exporter, importer = Exporter(), Importer()
    made = batch(pool)
    reader = importer.request("")
    assert reader is not None
    answer = sent(exporter, made, reader)
    assert answer.exporter == exporter.name
    assert isinstance(answer.columns[0].data, SharedArray)
    assert len(pickle.dumps(answer)) < 2000
    taken = importer.take(answer, reader.number)
    images = taken.columns[0].data
    assert (images.shape, images.dtype, taken.columns[0].layout) == ((4, COUNT // 4), "u1", "HWC")
    assert taken.nbytes == made.nbytes
    assert not images.flags.writeable
    np.testing.assert_array_equal(taken.columns[1].data, np.arange(4))
    made.columns[0].data[2, 5] = 99
    assert images[2, 5] == 99, "it is the same memory"
    assert taken.batches()[0].at(2)[5] == 99


def test_memory_comes_back(pool: MemoryPool) -> None:
    exporter, importer = Exporter(), Importer()
    reader = importer.request("")
    assert reader is not None
    taken = importer.take(sent(exporter, batch(pool), reader), reader.number)
    view = taken.columns[0].data[1:, 3:9]
    del taken
    assert importer.request(exporter.name).done == ()  # type: ignore[union-attr]
    assert exporter.nbytes == COUNT
    assert (view == 7).all()
    del view
    after = importer.request(exporter.name)
    assert after is not None
    assert after.done == (reader.number,)
    assert importer.request(exporter.name).done == ()  # type: ignore[union-attr]
    sent(exporter, LoadedBatch(), after)
    assert exporter.nbytes == 0
    assert pool.stats().leased == 0


def test_blocks_are_mapped_once(pool: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, importer = Exporter(), Importer()
    mapped: list[Any] = []

    def noted(place: Any) -> Any:
        mapped.append(place)
        return map_block(place)

    monkeypatch.setattr(shared_memory, "map_block", noted)
    for value in range(9):
        reader = importer.request(exporter.name)
        assert reader is not None
        taken = importer.take(sent(exporter, batch(pool, value), reader), reader.number)
        assert (taken.columns[0].data == value).all()
        del taken
    assert len(mapped) == 2, "one is returned with the request after the next"


def test_requests_that_nobody_waits_for(pool: MemoryPool) -> None:
    exporter, importer = Exporter(), Importer()
    answered, not_yet = importer.request(""), importer.request("")
    assert answered is not None
    assert not_yet is not None
    sent(exporter, batch(pool), answered)
    assert exporter.nbytes == COUNT
    after = importer.request(exporter.name, [answered.number, not_yet.number])
    sent(exporter, LoadedBatch(), after)
    assert exporter.nbytes == 0
    assert not sent(exporter, batch(pool), not_yet).exporter
    assert exporter.nbytes == 0
    assert not exporter._forgotten
    for number in range(3000):
        exporter._take_back(Reader("", 1, "another", 0, (number,)))
    assert len(exporter._forgotten) == shared_memory._FORGOTTEN


def test_a_trainer_that_died(pool: MemoryPool) -> None:
    exporter, importer = Exporter(), Importer()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    gone = Reader(shared_memory.machine(), process.pid, "gone", 0)
    sent(exporter, batch(pool), gone)
    sent(exporter, LoadedBatch(), importer.request(""))
    assert exporter.nbytes == COUNT
    process.communicate(b"\n")
    sent(exporter, LoadedBatch(), importer.request(""))
    assert exporter.nbytes == 0


def test_what_is_sent(pool: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much, too small, of other memory, or for another machine."""
    exporter, importer = Exporter(most=2 * COUNT), Importer()
    held = [sent(exporter, batch(pool), importer.request("")).exporter for _ in range(3)]
    assert held == [exporter.name, exporter.name, ""]
    exporter = Exporter()
    other = importer.request("")
    assert other is not None
    plain = sent(exporter, batch(pool), other._replace(machine="another"))
    assert (plain.exporter, int(plain.columns[0].data[0, 0])) == ("", 7)
    assert not sent(exporter, batch(pool), other._replace(machine="")).exporter
    small = LoadedBatch((Column(pool.allocate(1000), None, ""),))
    assert not sent(exporter, small, importer.request("")).exporter
    own = LoadedBatch((Column(np.zeros(COUNT), None, ""),))
    assert not sent(exporter, own, importer.request("")).exporter
    error = LoadedBatch(error=OperatorRuntimeError("bad"))
    assert sent(exporter, error, importer.request("")).error is not None
    monkeypatch.setattr(shared_memory, "machine", lambda: "")
    assert importer.request("") is None
    assert not sent(exporter, batch(pool), other).exporter


def test_a_child_borrows_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    own = shared_memory.importer()
    assert shared_memory.importer() is own
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert own.request("") is None
    assert shared_memory.importer() is not own
    monkeypatch.undo()
    monkeypatch.setattr(shared_memory, "_importer", own)


class Store:
    """The part of Ray that a transport calls; loaders answer at once."""

    def __init__(self) -> None:
        self.answers: list[LoadedBatch] = []

    def put(self, answer: LoadedBatch) -> int:
        self.answers.append(answer)
        return len(self.answers) - 1

    def wait(self, refs: list[Any], num_returns: int, timeout: float) -> tuple[Any, Any]:
        return refs[:num_returns], refs[num_returns:]

    def get(self, ref: int) -> LoadedBatch:
        return self.answers[ref]


def asked(monkeypatch: pytest.MonkeyPatch, exporter: Exporter, pool: MemoryPool) -> Any:
    """A transport to one loader, and the readers of its requests."""
    pytest.importorskip("ray")
    store = Store()
    monkeypatch.setattr(transport, "ray", store)
    importer, readers = Importer(), list[Reader | None]()
    monkeypatch.setattr(transport, "importer", lambda: importer)

    def make(part: Part, digest: str, reader: Reader | None) -> Any:
        readers.append(reader)
        made = batch(pool, part.start)
        return store.put(made if reader is None else sent(exporter, made, reader))

    loader = SimpleNamespace(make=SimpleNamespace(remote=make))
    return transport.RayTransport({0: loader}, ""), readers


def test_a_transport_imports(monkeypatch: pytest.MonkeyPatch, pool: MemoryPool) -> None:
    exporter = Exporter()
    route, readers = asked(monkeypatch, exporter, pool)
    first = route.take(route.ask(0, Part(0, 3, 4)))
    assert (first.columns[0].data == 3).all()
    route.ask(0, Part(0, 4, 5))
    route.forget()
    del first
    route.ask(0, Part(0, 5, 6))
    assert [reader.done for reader in readers] == [(), (), (1, 0)]
    assert exporter.nbytes == COUNT


@pytest.mark.parametrize(
    ("error", "imports"),
    [(FileNotFoundError("gone"), True), (PermissionError("no"), False), (OSError(12, "no"), False)],
)
def test_what_cannot_be_read_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, pool: MemoryPool, error: OSError, imports: bool
) -> None:
    exporter = Exporter()
    route, readers = asked(monkeypatch, exporter, pool)

    def fail(place: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(shared_memory, "map_block", fail)
        with pytest.raises(LoaderLostError):
            route.take(route.ask(0, Part(0, 3, 4)))
    assert list(route.loaders()) == [0], "it is asked for the next one"
    again = route.take(route.ask(0, Part(0, 3, 4)))
    assert (again.columns[0].data == 3).all()
    assert bool(again.exporter) == imports
    assert (readers[1] is not None) == imports
    assert not imports or readers[1].done == (0,)
