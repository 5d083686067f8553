"""What is shared between the threads that use one store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gradiva.ops.cache.entry import OpenShard
from gradiva.ops.cache.memory_store import MemoryStore
from gradiva.ops.cache.opening import open_store
from gradiva.ops.cache.store import Store
from gradiva.ops.cache.table import Table
from tests.hammer import THREADS, hammer

from .samples import LARGE, digest, opened

TIMES = 15

MAKERS: dict[str, Callable[[Path], Store]] = {
    "disk": opened,
    "memory": lambda _: MemoryStore(LARGE),
}


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_results_of_all_threads_are_found(tmp_path: Path, kind: str) -> None:
    """Each key is put by two threads, and stored once."""
    store = MAKERS[kind](tmp_path)

    def work(number: int) -> bool:
        good = True
        for k in range(TIMES):
            name = number // 2 * TIMES + k
            value = np.full((2, 3 + k), name, np.int32)
            store.put(digest(name), value, "HW", 0.5)
            (entry,) = store.find([digest(name)])
            if entry is not None:  # the other thread may be writing it
                out = np.empty(entry.shape, entry.dtype)
                good &= store.read(entry, out) and np.array_equal(out, value)
        return good

    assert all(hammer(work))
    count = THREADS // 2 * TIMES
    assert None not in store.find([digest(name) for name in range(count)])
    totals = store.statistics()
    assert (totals["stored"], totals["refused"], totals["damaged"]) == (count, 0, 0)
    assert totals["hits"] + totals["misses"] == THREADS * TIMES + count
    assert not store._pending
    store.close()


def test_a_place_has_one_store(tmp_path: Path) -> None:
    first, *others = hammer(lambda _: open_store(str(tmp_path), LARGE))
    assert all(one is first for one in others)


def test_open_files_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenShard, "open_files", {})
    monkeypatch.setattr("os.close", lambda _handle: None)

    def work(number: int) -> OpenShard:
        for k in range(20 * TIMES):
            OpenShard(10_000 * (number + 1) + k)
        return OpenShard(10_000 * (number + 1) + 5000)

    held = hammer(work)
    assert sorted(OpenShard.open_files) == [10_000 * (n + 1) + 5000 for n in range(THREADS)]
    del held
    assert not OpenShard.open_files


def test_a_table_is_searched_while_it_grows() -> None:
    from gradiva.ops.cache.records import RECORD

    table, count = Table(), 3000
    records = np.zeros(count, RECORD)
    records["key"] = np.frombuffer(b"".join(map(digest, range(count))), np.uint64).reshape(-1, 2)
    records["offset"] = np.arange(count)

    def work(number: int) -> bool:
        good = True
        if number == 0:
            for k in range(0, count, 50):
                table.add(records[k : k + 50])
        for k in range(number, count, 7):
            found = table.find(digest(k))
            good &= found is None or found[1] == k
        return good

    assert all(hammer(work))
    assert all(table.find(digest(k)) for k in range(count))
