"""The table of records: it is small, and it forgets."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.ops.cache.records import RECORD
from gradiva.ops.cache.table import Table


def records(count: int, shard: int = 0, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    made = np.zeros(count, RECORD)
    made["key"] = np.random.default_rng(seed).integers(0, 1 << 63, (count, 2), dtype=np.uint64)
    made["offset"] = np.arange(count)
    made["last"] = shard
    return made


def key_of(record: np.void) -> bytes:
    return bytes(record["key"].tobytes())


@pytest.mark.parametrize("count", [90_000, 180_000])
def test_an_entry_takes_a_hundred_bytes(count: int) -> None:
    table = Table()
    added = records(count)
    for begin in range(0, count, 30_000):
        table.add(added[begin : begin + 30_000])
    slots, _, segments = table._state
    assert slots.nbytes + sum(map(len, segments)) < 100 * count
    for number in range(0, count, 997):
        found = table.find(key_of(added[number]))
        assert found is not None
        assert found[1] == number


def test_of_two_the_first_is_found_until_it_is_forgotten() -> None:
    table = Table()
    one, other = records(1, 1), records(1, 2)
    key = key_of(one[0])
    table.add(one)
    table.add(other)
    table.add(records(5000, 3, 1))  # it grows
    for shard in (1, 2):
        found = table.find(key)
        assert found is not None
        assert found[-1] == shard
        assert table.forget(key, shard, 0)
        assert not table.forget(key, shard, 0)
    assert table.find(key) is None
    assert len(table) == 5000


def test_shards_are_forgotten() -> None:
    table = Table()
    parts = [records(3000, shard, shard) for shard in range(4)]
    for part in parts:
        table.add(part)
    table.forget_shards({0, 2, 3})
    assert len(table) == 3000
    for shard, part in enumerate(parts):
        there = [table.find(key_of(record)) is not None for record in part[::100]]
        assert there == [shard == 1] * len(there)
    table.add(parts[0])
    assert len(table) == 6000
    assert table.find(key_of(parts[0][7])) is not None
