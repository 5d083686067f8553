"""Stores on disk and in memory: what is put is found, and read, whole or by rows."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.jit.packed_calls import pack_call
from gradiva.ops.cache import write_several
from gradiva.ops.cache.disk_store import DiskStore
from gradiva.ops.cache.memory_store import MemoryStore
from gradiva.ops.cache.opening import open_store
from gradiva.ops.cache.read_several import read_several
from gradiva.ops.cache.shard_writer import ShardWriter
from gradiva.ops.cache.store import Store

from .samples import LARGE, digest, fill, found, images, opened

MAKERS: dict[str, Callable[[Path], Store]] = {
    "disk": lambda folder: DiskStore(folder / "cache", LARGE),
    "memory": lambda folder: MemoryStore(LARGE),
}


@pytest.fixture(params=sorted(MAKERS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MAKERS[request.param](tmp_path)


VALUES = [
    *images(6),
    np.zeros((0, 4), np.float32),
    np.full((), 2.5),
    np.arange(720, dtype=np.int16).reshape(1, 2, 3, 4, 5, 6),
    np.arange(30000, dtype=np.float32).reshape(100, 300)[::2, ::3],
    np.zeros((1, 0, 3), np.uint8),
]


def test_what_is_put_is_found(store: Store) -> None:
    keys = [digest(number) for number in range(len(VALUES))]
    assert store.find(keys) == [None] * len(VALUES)
    for key, value in zip(keys, VALUES, strict=True):
        store.put(key, value, "ABCDEF"[: value.ndim], 0.5)
    entries = store.find(keys)
    for entry, value in zip(entries, VALUES, strict=True):
        assert entry is not None
        assert entry.dtype == value.dtype.name
        assert entry.shape == value.shape
        assert entry.layout == "ABCDEF"[: value.ndim]
        assert entry.failure is None
        out = np.empty(value.shape, value.dtype)
        assert store.read(entry, out)
        np.testing.assert_array_equal(out, value)
    counts = store.statistics()
    size = sum(value.nbytes for value in VALUES)
    assert (counts["hits"], counts["misses"], counts["stored"]) == (len(keys),) * 3
    assert (counts["bytes_read"], counts["bytes_written"]) == (size, size)
    assert counts["seconds_saved"] == 0.5 * len(keys)
    assert counts["damaged"] == counts["refused"] == 0
    store.close()
    assert [one is None for one in found(store, keys)] == [False] * len(keys)


@pytest.mark.skipif(write_several._pwritev() is None, reason="there is no pwritev")
@pytest.mark.parametrize("by_kernel", [True, False])
def test_many_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_kernel: bool) -> None:
    """By a kernel, or one by one, where the C library lacks the function."""
    if not by_kernel:
        monkeypatch.setattr(write_several, "_pwritev", lambda: None)
    alone: list[bytes] = []
    write = ShardWriter.write

    def counted(self: ShardWriter, offset: int, taken: int, key: bytes, data: Any) -> None:
        alone.append(key)
        write(self, offset, taken, key, data)

    monkeypatch.setattr(ShardWriter, "write", counted)
    values = [value for value in VALUES if value.nbytes]
    keys = fill(opened(tmp_path), values)
    assert {*keys} & {*alone} == (set() if by_kernel else {*keys})
    other = opened(tmp_path)
    for read, value in zip(found(other, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)
    assert other.statistics()["damaged"] == 0


def test_keys_that_come_twice_in_a_batch_or_are_there_already(store: Store) -> None:
    values = images(40) + images(200, 1, 8)
    keys = [digest(number) for number in range(len(values))]
    # Some keys come twice, and some are there already.
    store.put_many(keys[:5], values[:5], "HWC", [1.0] * 5)
    again = [*keys, *keys[:10]]
    store.put_many(again, [*values, *values[:10]], "HWC", [1.0] * len(again))
    for read, value in zip(found(store, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)
    assert store.statistics()["stored"] == len(values)


def test_rows(store: Store) -> None:
    value = images(1, 5)[0]
    value = np.resize(value, (500, 333, 3))
    (key,) = fill(store, [value])
    (entry,) = store.find([key])
    assert entry is not None
    for first, last in ((0, 500), (0, 1), (17, 230), (499, 500), (30, 30), (130, None)):
        out = np.zeros(value.shape, np.uint8)
        assert store.read(entry, out, first, last)
        np.testing.assert_array_equal(out[first:last], value[first:last])
    with pytest.raises(ValueError, match="rows"):
        store.read(entry, np.zeros(value.shape, np.uint8), 3, 501)
    with pytest.raises(ValueError, match="contiguous"):
        store.read(entry, np.zeros(5, np.uint8))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("windows", [False, True])
def test_many_are_read_by_a_kernel(store: Store, threads: int, windows: bool) -> None:
    values = [np.resize(images(1)[0], (side, side, 3)) for side in (1, 5, 100, 300, 700)]
    keys = fill(store, values)
    store.put_failure(digest("failed"), {"problem": "cut"})
    entries = store.find([*keys, digest("failed"), digest("missing")])
    rows = np.array([[len(one) // 3, len(one) - len(one) // 4] for one in values] + [[0, 0]] * 2)
    several = read_several(store, entries, rows if windows else None)
    assert several is not None
    sizes = np.array([value.size for value in values])
    places = np.array([*(np.cumsum(sizes) - sizes), 0, 0])
    memory = np.zeros((threads, sizes.sum()), np.uint8)
    if threads == 1:
        made = several.make(memory[0], places, 0, len(places))
    else:
        (call,) = several.calls(memory, places, threads)
        assert len(pack_call(*call, threads).rows) == threads
        made = several.make(memory[0], places, 0, len(places))
    assert made == [True] * len(values) + [False] * 2
    for value, place, (first, last) in zip(values, places, rows, strict=False):
        got = memory[0][place : place + value.size].reshape(value.shape)
        part = slice(first, last) if windows else slice(None)
        np.testing.assert_array_equal(got[part], value[part])
    assert store.statistics()["seconds_saved"] == 0.25 * len(values)
    del several
    assert store.statistics()["seconds_saved"] == 0.25 * len(values)


def test_there_is_nothing_to_read(store: Store) -> None:
    assert read_several(store, []) is None
    assert read_several(store, [None, None]) is None


def test_failures(store: Store) -> None:
    facts = {"problem": "it ends early", "file": "a.jpg", "sample": 3, "more": [1, {"a": None}]}
    store.put_failure(digest("bad"), facts)
    (entry,) = store.find([digest("bad")])
    assert entry is not None
    assert entry.failure == facts
    assert (entry.shape, entry.dtype, entry.layout) == ((), "", "")


@pytest.mark.full
def test_many_entries(store: Store) -> None:
    """The table grows, and each entry is found."""
    values = [np.array([number], np.int32) for number in range(20000)]
    keys = fill(store, values)
    entries = store.find(keys)
    assert None not in entries
    assert store.find([digest(("no", number)) for number in range(1000)]) == [None] * 1000
    for number in (0, 1, 7777, 19999):
        np.testing.assert_array_equal(found(store, [keys[number]])[0], values[number])


def test_one_store_for_each_place(tmp_path: Path) -> None:
    one = open_store(str(tmp_path / "cache"), 1 << 24)
    assert open_store(str(tmp_path / "x" / ".." / "cache"), 1 << 25) is one
    assert one.capacity == 1 << 25
    assert open_store(str(tmp_path / "other"), 1 << 24) is not one
    memory = open_store("ram", 1 << 20)
    assert open_store("ram") is memory
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    known = weakref.ref(one), weakref.ref(memory)
    del one, memory
    gc.collect()
    assert [one() for one in known] == [None, None]


def test_memory_is_limited() -> None:
    store = MemoryStore(1 << 20)
    values = [np.full(100_000, number, np.uint8) for number in range(20)]
    with pytest.warns(RuntimeWarning, match="the cache in memory is full") as warned:
        keys = fill(store, values)
    fill(store, values, "more")
    assert len(warned) == 1
    there = [one is not None for one in found(store, keys)]
    assert there == [True] * 10 + [False] * 10
    assert store.statistics()["refused"] == 30


def test_the_default_capacity() -> None:
    assert open_store("ram").capacity > 0
