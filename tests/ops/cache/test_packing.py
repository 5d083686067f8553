"""Entries that are packed by LZ4, where there is a library for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradiva.ops.cache import catalog, disk_writer, packing
from gradiva.ops.cache.read_several import read_several

from .samples import digest, fill, found, images, indices, opened

pytest.importorskip("lz4.block")


def masks() -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    made = []
    for side in (130, 400, 777):
        rows, columns = np.mgrid[:side, :side]
        inside = (rows - side / 2) ** 2 + (columns - side / 3) ** 2 < side**2 / 9
        made.append((inside * 7).astype(np.uint8))
    return made


def test_masks_are_packed_and_photographs_are_not(tmp_path: Path) -> None:
    store = opened(tmp_path)
    values = [*masks(), *images(3)]
    keys = fill(store, values)
    entries = store.find(keys)
    assert [entry is not None and entry.packed for entry in entries] == [True] * 3 + [False] * 3
    size = sum(value.nbytes for value in masks())
    assert store.statistics()["bytes_written"] < size / 4 + sum(one.nbytes for one in values[3:])
    for one in (store, opened(tmp_path)):
        for read, value in zip(found(one, keys), values, strict=True):
            np.testing.assert_array_equal(read, value)
    out = np.zeros(values[2].shape, np.uint8)
    assert entries[2] is not None
    assert store.read(entries[2], out, 300, 500)
    np.testing.assert_array_equal(out[300:500], values[2][300:500])
    # The kernel leaves them to `read`.
    several = read_several(store, entries)
    assert several is not None
    sizes = np.array([value.size for value in values])
    made = several.make(np.zeros(sizes.sum(), np.uint8), np.cumsum(sizes) - sizes, 0, 6)
    assert made == [False] * 3 + [True] * 3


def test_damage_in_packed_data(tmp_path: Path) -> None:
    value = masks()[2]
    store = opened(tmp_path)
    (key,) = fill(store, [value])
    (entry,) = store.find([key])
    assert entry is not None
    (path,) = indices(tmp_path, ".data")
    content = path.read_bytes()
    for place in range(entry.offset, entry.offset + entry.stored + 8, 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        out = np.zeros(value.shape, np.uint8)
        reader = opened(tmp_path)
        (again,) = reader.find([key])
        assert again is not None
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert not reader.read(again, out)


def test_what_is_no_packed_entry() -> None:
    value = masks()[2].reshape(-1)
    data = packing.packed(value)
    assert data is not None
    out = np.empty_like(value)
    assert packing.unpack(data, out, 0, len(out))
    np.testing.assert_array_equal(out, value)
    for wrong in (data[:-1], data[:3], data[:0], np.roll(data, 1), np.roll(data, 4)):
        packing.unpack(wrong, out, 0, len(out))  # whatever it says, it ends
    assert not packing.unpack(data, np.empty(len(value) - 1, np.uint8), 0, len(value) - 1)
    assert packing.packed(np.zeros(100, np.uint8)) is None


def test_without_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = masks()[1]
    (key,) = fill(opened(tmp_path), [value])
    monkeypatch.setattr(catalog, "can_pack", lambda: False)
    monkeypatch.setattr(disk_writer, "can_pack", lambda: False)
    store = opened(tmp_path)
    assert store.find([key]) == [None]
    (own,) = fill(store, [value], "plain")
    np.testing.assert_array_equal(found(store, [own])[0], value)
    # What cannot be read is stored again, as it is.
    store.put(key, value, "HW", 0.1)
    np.testing.assert_array_equal(found(store, [key, digest("none")])[0], value)
