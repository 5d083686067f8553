"""Files that are cut, changed or gone: never other data, never an error, counted and told once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gradiva.ops.cache.read_several import read_several
from gradiva.ops.cache.records import RECORD_BYTES
from gradiva.ops.cache.shard_files import HEADER_BYTES
from tests.tiers import examples

from .samples import Array, digest, fill, found, images, indices, opened

VALUES = images(5, side=40)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = opened(tmp_path)
    fill(store, VALUES)
    store.put_failure(digest("failed"), {"problem": "cut"})
    store.close()
    return tmp_path


KEYS = [digest(("", number)) for number in range(len(VALUES))]


def check(folder: Path) -> int:
    """Read everything as another process does. Returns how many entries are still there."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        store = opened(folder)
        entries = store.find(KEYS)
        several = read_several(store, entries)
        sizes = np.array([value.size for value in VALUES])
        places, memory = np.cumsum(sizes) - sizes, np.zeros(sizes.sum(), np.uint8)
        made = several.make(memory, places, 0, len(VALUES)) if several else [False] * len(VALUES)
        read = found(store, KEYS)
        for value, one, good, place in zip(VALUES, read, made, places, strict=True):
            assert good == (one is not None)
            if good:
                np.testing.assert_array_equal(one, value)
                got = memory[place : place + value.size].reshape(value.shape)
                np.testing.assert_array_equal(got, value)
        (failed,) = store.find([digest("failed")])
        assert failed is None or failed.failure == {"problem": "cut"}
        there = len(VALUES) - sum(one is None for one in read)
        # What is gone is stored again, and found by the next process.
        fill(store, VALUES)
        assert all(one is not None for one in found(store, KEYS))
        store.close()
    assert len(told) <= 2
    assert all(issubclass(one.category, RuntimeWarning) for one in told)
    return there


def places(size: int, count: int, seed: int) -> Iterator[int]:
    """Bytes of a file: the first ones and the last ones, and others by chance."""
    chosen = np.random.default_rng(seed).integers(0, size, count).tolist()
    yield from sorted({0, 5, 20, 63, 64, size - 1, *chosen} & set(range(size)))


def test_everything_is_there(folder: Path) -> None:
    assert check(folder) == len(VALUES)


@pytest.mark.parametrize("ending", [".index", ".data"])
def test_flipped_bytes(folder: Path, ending: str) -> None:
    (path,) = indices(folder, ending)
    content = path.read_bytes()
    for place in places(len(content), examples(400), 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        there = check(folder)
        for other in (*indices(folder), *indices(folder, ".data")):
            if other.stem != path.stem:
                other.unlink()  # what was stored again
        if ending == ".index" and place >= HEADER_BYTES:
            # One record is for the kind, and those in front of the damaged one are there.
            assert there == min(max((place - HEADER_BYTES) // RECORD_BYTES - 1, 0), len(VALUES))
        elif ending == ".data" and place >= HEADER_BYTES:
            # The first bytes are the text of the kind; padding is nobody's.
            assert there in (len(VALUES) - 1, len(VALUES)) or there == 0


@pytest.mark.parametrize("ending", [".index", ".data"])
def test_cut_files(folder: Path, ending: str) -> None:
    (path,) = indices(folder, ending)
    content = path.read_bytes()
    for size in places(len(content), examples(400), 2):
        path.write_bytes(content[:size])
        there = check(folder)
        for other in (*indices(folder), *indices(folder, ".data")):
            if other.stem != path.stem:
                other.unlink()
        if ending == ".index":
            assert there == min(max((size - HEADER_BYTES) // RECORD_BYTES - 1, 0), len(VALUES))


def test_damage_is_counted_and_told_once(folder: Path) -> None:
    (path,) = indices(folder, ".data")
    store = opened(folder)
    content = bytearray(path.read_bytes())
    for entry in store.find(KEYS):
        assert entry is not None
        content[entry.offset] ^= 1
    path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="damaged entries") as told:
        assert found(store, KEYS) == [None] * len(KEYS)
    assert len(told) == 1
    assert store.statistics()["damaged"] == len(KEYS)
    assert store.find(KEYS) == [None] * len(KEYS)
    fill(store, VALUES)
    # The damaged entries are still in the folder; the new ones are found first.
    other = opened(folder)
    for read, value in zip(found(other, KEYS), VALUES, strict=True):
        np.testing.assert_array_equal(read, value)
    assert other.statistics()["damaged"] == 0


def test_a_window_of_undamaged_blocks(tmp_path: Path) -> None:
    value = np.resize(images(1)[0], (400, 1000))
    store = opened(tmp_path)
    (key,) = fill(store, [value])
    (entry,) = store.find([key])
    assert entry is not None
    (path,) = indices(tmp_path, ".data")
    with path.open("r+b") as file:
        file.seek(entry.offset + 399_000)
        file.write(bytes([value[399, 0] ^ 1]))
    out = np.zeros(value.shape, np.uint8)
    assert store.read(entry, out, 0, 300)
    np.testing.assert_array_equal(out[:300], value[:300])
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert not store.read(entry, out, 0, 400)
    assert store.find([key]) == [None]


def test_records_of_another_shard(folder: Path) -> None:
    """An index that was put together of two has no entries with other data."""
    store = opened(folder)
    more: list[Array] = images(3, 7, 40)
    fill(store, more, "more")
    store.close()
    one, other = indices(folder)
    one.write_bytes(one.read_bytes()[:HEADER_BYTES] + other.read_bytes()[HEADER_BYTES:])
    check(folder)


@pytest.mark.parametrize("name", ["gradiva-%s.index", "gradiva-%s.data", "notes.txt", "x.index"])
def test_files_of_others(folder: Path, name: str) -> None:
    path = folder / (name.replace("%s", "0" * 32))
    path.write_bytes(b"something else" * 100)
    (folder / ("gradiva-" + "1" * 32 + ".index")).mkdir()
    os.symlink("/dev/zero", folder / ("gradiva-" + "2" * 32 + ".index"))
    os.symlink("/dev/zero", folder / ("gradiva-" + "2" * 32 + ".data"))
    assert check(folder) == len(VALUES)
    assert path.read_bytes() == b"something else" * 100


def test_a_version_from_the_future(folder: Path) -> None:
    (path,) = indices(folder)
    content = bytearray(path.read_bytes())
    content[14] += 1
    path.write_bytes(content)
    assert check(folder) == 0
