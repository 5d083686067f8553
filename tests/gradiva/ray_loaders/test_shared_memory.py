"""Batches that a trainer reads where its loader has made them, without Ray."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.shared_blocks import map_block
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.readers.core.source import EpochPart
from gradiva.plugin.ray import shared_memory, transport
from gradiva.plugin.ray.batch_fetcher import LoaderLostError
from gradiva.plugin.ray.loaded_batch import Column, LoadedBatch
from gradiva.plugin.ray.shared_memory import MOST, Exporter, Importer, Reader, SharedArray

pytestmark = pytest.mark.skipif(not shared_memory.machine(), reason="no memory can be shared here")

COUNT = 1 << 20
KEY = "loader"


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


def sharing(most: int = MOST) -> Exporter:
    """One that was asked before."""
    made = Exporter(most)
    reader = Importer().request(KEY)
    assert reader is not None
    made.take_back(reader)
    return made


def sent(exporter: Exporter, made: LoadedBatch, reader: Reader | None) -> LoadedBatch:
    assert reader is not None
    exporter.take_back(reader)
    content = pickle.dumps(exporter.export(made, reader))
    found: LoadedBatch = pickle.loads(content)
    assert found.exporter == exporter.name
    return found


def is_shared(answer: LoadedBatch) -> bool:
    return any(isinstance(column.data, SharedArray) for column in answer.columns)


def test_nothing_is_copied(pool: MemoryPool) -> None:
    exporter, importer = sharing(), Importer()
    made = batch(pool)
    reader = importer.request(KEY)
    assert reader is not None
    answer = sent(exporter, made, reader)
    assert answer.exporter == exporter.name
    assert isinstance(answer.columns[0].data, SharedArray)
    assert len(pickle.dumps(answer)) < 2000
    taken = importer.take(answer, KEY, reader.number)
    images = taken.columns[0].data
    assert (images.shape, images.dtype, taken.columns[0].layout) == ((4, COUNT // 4), "u1", "HWC")
    assert taken.nbytes == made.nbytes
    assert not images.flags.writeable
    np.testing.assert_array_equal(taken.columns[1].data, np.arange(4))
    made.columns[0].data[2, 5] = 99
    assert images[2, 5] == 99, "it is the same memory"
    assert taken.batches()[0].at(2)[5] == 99


def test_memory_comes_back(pool: MemoryPool) -> None:
    exporter, importer = sharing(), Importer()
    reader = importer.request(KEY)
    assert reader is not None
    taken = importer.take(sent(exporter, batch(pool), reader), KEY, reader.number)
    view = taken.columns[0].data[1:, 3:9]
    del taken
    assert importer.request(KEY).done == ()  # type: ignore[union-attr]
    assert exporter.nbytes == COUNT
    assert (view == 7).all()
    del view
    after = importer.request(KEY)
    assert after is not None
    assert after.done == (reader.number,)
    assert importer.request(KEY).done == ()  # type: ignore[union-attr]
    sent(exporter, LoadedBatch(), after)
    assert exporter.nbytes == 0
    assert pool.stats().leased == 0


def test_blocks_are_mapped_once(pool: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, importer = sharing(), Importer()
    mapped: list[Any] = []

    def noted(place: Any) -> Any:
        mapped.append(place)
        return map_block(place)

    monkeypatch.setattr(shared_memory, "map_block", noted)
    for value in range(9):
        reader = importer.request(KEY)
        assert reader is not None
        taken = importer.take(sent(exporter, batch(pool, value), reader), KEY, reader.number)
        assert (taken.columns[0].data == value).all()
        del taken
    assert len(mapped) == 2, "one is returned with the request after the next"


def test_requests_that_nobody_waits_for(pool: MemoryPool) -> None:
    exporter, importer = sharing(), Importer()
    answered, not_yet = importer.request(KEY), importer.request(KEY)
    assert answered is not None
    assert not_yet is not None
    sent(exporter, batch(pool), answered)
    assert exporter.nbytes == COUNT
    importer.forget(KEY, answered.number, not_yet.number)
    assert importer.waits_for(KEY)
    after = importer.request(KEY)
    assert not importer.waits_for(KEY)
    sent(exporter, LoadedBatch(), after)
    assert exporter.nbytes == 0
    assert not is_shared(sent(exporter, batch(pool), not_yet))
    assert exporter.nbytes == 0
    assert not exporter._forgotten
    for number in range(3000):
        exporter.take_back(Reader("", (1, ""), "another", 0, (number,)))
    assert len(exporter._forgotten) == shared_memory._FORGOTTEN


def test_a_trainer_that_died(pool: MemoryPool) -> None:
    exporter, importer = sharing(), Importer()
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    known = process.pid, shared_memory.began(process.pid)
    gone = Reader(shared_memory.machine(), known, "gone", 0)
    sent(exporter, batch(pool), gone)
    sent(exporter, LoadedBatch(), importer.request(KEY))
    assert exporter.nbytes == COUNT
    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    sent(exporter, LoadedBatch(), importer.request(KEY))
    assert exporter.nbytes == 0, "nobody has waited for it yet, but it has ended"
    process.wait()
    assert shared_memory.began(process.pid) == ""
    other = Reader(shared_memory.machine(), (os.getpid(), "another time"), "gone", 0)
    sent(exporter, batch(pool), other)
    sent(exporter, LoadedBatch(), importer.request(KEY))
    assert exporter.nbytes == 0, "a process of the same number is another one"


def test_what_is_sent(pool: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much, too small, of other memory, or for another machine."""
    exporter, importer = Exporter(2 * COUNT), Importer()
    sent(exporter, batch(pool), importer.request(KEY, share=False))
    assert exporter._blocks is None
    held = [importer.request(KEY) for _ in range(4)]
    shared = [is_shared(sent(exporter, batch(pool), reader)) for reader in held]
    assert shared == [False, True, True, False], "the first was made before memory was shared"
    exporter = sharing()
    other = importer.request(KEY)
    assert other is not None
    plain = sent(exporter, batch(pool), other._replace(machine="another"))
    assert int(plain.columns[0].data[0, 0]) == 7
    assert importer.take(plain, KEY, 99) == plain
    small = LoadedBatch((Column(pool.allocate(1000), None, ""),))
    assert not is_shared(sent(exporter, small, importer.request(KEY)))
    own = LoadedBatch((Column(np.zeros(COUNT), None, ""),))
    assert not is_shared(sent(exporter, own, importer.request(KEY)))
    error = LoadedBatch(error=OperatorRuntimeError("bad"))
    assert sent(exporter, error, importer.request(KEY)).error is not None
    monkeypatch.setattr(shared_memory, "machine", lambda: "")
    assert importer.request(KEY) is None
    assert not is_shared(sent(exporter, batch(pool), other))


def test_a_loader_that_starts_again(pool: MemoryPool) -> None:
    """Of the one before nothing stays mapped, and the new one gets none of its numbers."""
    importer = Importer()
    for _ in range(3):
        exporter = sharing()
        importer.take(sent(exporter, LoadedBatch(), importer.request(KEY)), KEY, 0)
        assert not importer._mapped
        reader = importer.request(KEY)
        assert reader is not None
        assert reader.done == ()
        taken = importer.take(sent(exporter, batch(pool), reader), KEY, reader.number)
        assert {known[0] for known in importer._mapped} == {exporter.name}
        del taken


def test_many_bytes_are_not_kept_mapped(pool: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "MOST", 3 * COUNT)
    exporter, importer = sharing(9 * COUNT), Importer()
    held = []
    for value in range(6):
        reader = importer.request(KEY)
        assert reader is not None
        held.append(importer.take(sent(exporter, batch(pool, value), reader), KEY, reader.number))
    assert 0 < len(importer._mapped) < 4
    for value, taken in enumerate(held):
        assert (taken.columns[0].data == value).all()


def test_threads_take_what_is_to_go_back(pool: MemoryPool) -> None:
    importer = Importer()
    seen: list[int] = []

    def ask() -> None:
        for _ in range(2000):
            reader = importer.request(KEY)
            assert reader is not None
            seen.extend(reader.done)
            importer.forget(KEY, reader.number)

    with ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(ask) for _ in range(4)]:
            one.result()
    last = importer.request(KEY)
    assert last is not None
    assert sorted([*seen, *last.done]) == list(range(8000))


def test_a_child_imports_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
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

    def make(part: EpochPart, digest: str, reader: Reader | None) -> Any:
        readers.append(reader)
        made = batch(pool, part.start)
        return store.put(made if reader is None else sent(exporter, made, reader))

    loader = SimpleNamespace(
        make=SimpleNamespace(remote=make), take_back=SimpleNamespace(remote=exporter.take_back)
    )
    return transport.RayTransport({0: loader}, ""), readers


def test_a_transport_imports(monkeypatch: pytest.MonkeyPatch, pool: MemoryPool) -> None:
    exporter = sharing()
    route, readers = asked(monkeypatch, exporter, pool)
    first = route.take(route.ask(0, EpochPart(0, 3, 4)))
    assert (first.columns[0].data == 3).all()
    route.ask(0, EpochPart(0, 4, 5))
    route.forget()
    del first
    route.ask(0, EpochPart(0, 5, 6))
    assert [reader.done for reader in readers] == [(), (), (1, 0)]
    assert exporter.nbytes == COUNT


@pytest.mark.parametrize(
    ("error", "imports"),
    [(FileNotFoundError("gone"), True), (PermissionError("no"), False), (OSError(12, "no"), False)],
)
def test_what_cannot_be_read_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, pool: MemoryPool, error: OSError, imports: bool
) -> None:
    exporter = sharing()
    route, readers = asked(monkeypatch, exporter, pool)

    def fail(place: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(shared_memory, "map_block", fail)
        with pytest.raises(LoaderLostError):
            route.take(route.ask(0, EpochPart(0, 3, 4)))
    assert list(route.loaders()) == [0], "it is asked for the next one"
    again = route.take(route.ask(0, EpochPart(0, 3, 4)))
    assert (again.columns[0].data == 3).all()
    assert bool(readers[-1].machine) == imports
    assert readers[-1].done == (0,)
    assert exporter.nbytes == (COUNT if imports else 0)


def test_a_loader_whose_memory_is_gone_again_and_again(
    monkeypatch: pytest.MonkeyPatch, pool: MemoryPool
) -> None:
    route, readers = asked(monkeypatch, sharing(), pool)

    def fail(place: Any) -> Any:
        raise FileNotFoundError("gone")

    monkeypatch.setattr(shared_memory, "map_block", fail)
    for _ in range(3):
        with pytest.raises(LoaderLostError):
            route.take(route.ask(0, EpochPart(0, 3, 4)))
    assert (route.take(route.ask(0, EpochPart(0, 3, 4))).columns[0].data == 3).all()
    assert [bool(reader.machine) for reader in readers] == [True, True, True, False]


def test_a_transport_that_is_dropped_or_closed(
    monkeypatch: pytest.MonkeyPatch, pool: MemoryPool
) -> None:
    """What it has asked for goes back, with a request of another, or at once."""
    exporter = sharing()
    route, readers = asked(monkeypatch, exporter, pool)
    for number in range(3):
        route.ask(0, EpochPart(0, number, number + 1))
    loaders = route._all
    route = transport.RayTransport(loaders, "")
    assert exporter.nbytes == 3 * COUNT
    held = route.take(route.ask(0, EpochPart(0, 3, 4)))
    assert readers[-1].done == (0, 1, 2)
    assert exporter.nbytes == COUNT
    route.ask(0, EpochPart(0, 4, 5))
    route.close()
    assert exporter.nbytes == COUNT, "one is in use"
    assert (held.columns[0].data == 3).all()


def test_without_sharing(monkeypatch: pytest.MonkeyPatch, pool: MemoryPool) -> None:
    route, readers = asked(monkeypatch, sharing(), pool)
    route = transport.RayTransport(route._all, "", share_memory=False)
    assert (route.take(route.ask(0, EpochPart(0, 3, 4))).columns[0].data == 3).all()
    route.close()
    assert readers == [None]


def test_numbers_are_not_lost_with_a_request(
    monkeypatch: pytest.MonkeyPatch, pool: MemoryPool
) -> None:
    exporter = sharing()
    route, readers = asked(monkeypatch, exporter, pool)
    route.ask(0, EpochPart(0, 3, 4))
    route.forget()

    def fail(*_arguments: Any) -> Any:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(route._all[0].make, "remote", fail)
        with pytest.raises(OSError, match="no"):
            route.ask(0, EpochPart(0, 4, 5))
    route.ask(0, EpochPart(0, 4, 5))
    assert readers[-1].done == (0,)
