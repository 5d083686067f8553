"""A folder that is full: what is removed, and what never is."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.support.positional import write_at
from gradiva.ops.cache import disk_writer, shard_writer, write_several
from gradiva.ops.cache.disk_store import DiskStore

from .samples import digest, fill, found, images, indices, opened

MIB = 1 << 20
DAY = 86400


def blocks(count: int, first: int = 0) -> list[np.ndarray[Any, Any]]:
    """Values of half a MiB, which cannot be packed."""
    noise = np.random.default_rng(0).integers(0, 256, MIB // 2, np.uint8)
    return [noise ^ np.uint8(number) for number in range(first, first + count)]


def filled(folder: Path, days: list[float]) -> list[list[bytes]]:
    """Shards of 4 MiB each, last used so many days ago; returns the keys of each."""
    keys = []
    for number, age in enumerate(days):
        store = opened(folder)
        known = set(indices(folder))
        keys.append(fill(store, blocks(8), f"{number}"))
        store.close()
        (made,) = set(indices(folder)) - known
        moment = time.time() - age * DAY
        os.utime(made, (moment, moment))
    return keys


def there(folder: Path, keys: list[list[bytes]]) -> list[bool]:
    """Whether the entries of each shard are there. Does not mark them as used."""
    catalog = opened(folder)._catalog
    found = [[catalog.find(key) is not None for key in group] for group in keys]
    assert all(len(set(one)) == 1 for one in found)
    return [one[0] for one in found]


def test_the_shard_that_was_not_used_for_the_longest_time_is_removed(tmp_path: Path) -> None:
    keys = filled(tmp_path, [3, 9, 5])
    (tmp_path / "notes.txt").write_text("mine")
    store = opened(tmp_path, 14 * MIB)
    fill(store, blocks(5), "new")
    assert there(tmp_path, keys) == [True, False, True]
    fill(store, blocks(8), "newer")
    assert there(tmp_path, keys) == [True, False, False]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_is_used_stays(tmp_path: Path) -> None:
    keys = filled(tmp_path, [3, 9])
    store = opened(tmp_path, 10 * MIB)
    held = store.find(keys[1])
    fill(store, blocks(4), "new")
    assert there(tmp_path, keys) == [False, True]
    with pytest.warns(RuntimeWarning, match="is full") as told:
        fill(store, blocks(20), "more")
    fill(store, blocks(20), "and more")
    assert len(told) == 1
    assert there(tmp_path, keys) == [False, True]
    assert store.statistics()["refused"] > 20
    assert None not in held
    # There is more of it: it goes on.
    store.capacity = 100 * MIB
    new = fill(store, blocks(5), "later")
    assert None not in store.find(new)


def test_what_another_process_uses_stays(tmp_path: Path) -> None:
    keys = filled(tmp_path, [3, 9])
    store = opened(tmp_path, 10 * MIB)
    other = opened(tmp_path)
    other.find(keys[1])  # which marks the shard
    fill(store, blocks(4), "new")
    assert there(tmp_path, keys) == [False, True]


def test_an_entry_is_readable_after_its_shard_was_removed(tmp_path: Path) -> None:
    (keys,) = filled(tmp_path, [9])
    reader = opened(tmp_path)
    entries = reader.find(keys)
    for path in (*indices(tmp_path), *indices(tmp_path, ".data")):
        path.unlink()
    for number, entry in enumerate(entries):
        assert entry is not None
        out = np.zeros(MIB // 2, np.uint8)
        assert reader.read(entry, out)
        np.testing.assert_array_equal(out, blocks(1, number)[0])


@pytest.mark.parametrize("moment", [4e9, 0.0, -1e6, 1.7e9])
def test_clocks_that_jump(tmp_path: Path, moment: float) -> None:
    """A time in the future is no sign of use, and whole seconds are no finer ones."""
    keys = filled(tmp_path, [3, 9])
    for path in indices(tmp_path):
        os.utime(path, (moment, moment))
    store = opened(tmp_path, 10 * MIB)
    fill(store, blocks(4), "new")
    assert sorted(there(tmp_path, keys)) == [False, True]


def test_whole_seconds(tmp_path: Path) -> None:
    """A file system that knows whole seconds alone: what was used in this second stays."""
    keys = filled(tmp_path, [3, 9])
    store = opened(tmp_path, 10 * MIB)
    now = store._folder.opened // 10**9
    for path in indices(tmp_path):
        os.utime(path, (now, now))
    with pytest.warns(RuntimeWarning, match="full"):
        fill(store, blocks(8), "new")
    assert there(tmp_path, keys) == [True, True]


def test_leftovers_are_removed_after_an_hour(tmp_path: Path) -> None:
    filled(tmp_path, [3])
    old, young = (tmp_path / f"gradiva-{one * 32}.data" for one in "ab")
    for path in (old, young):
        path.write_bytes(b"gradiva cache\n" + bytes(MIB))
    foreign = tmp_path / f"gradiva-{'c' * 32}.data"
    foreign.write_bytes(b"something else")
    for path in (old, foreign):
        os.utime(path, (1e9, 1e9))
    store = opened(tmp_path, 5 * MIB)
    fill(store, blocks(3), "new")
    assert (old.exists(), young.exists(), foreign.exists()) == (False, True, True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("part", ["data", "index", "files"])
def test_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, part: str
) -> None:
    store = opened(tmp_path)
    values = images(6)
    keys = fill(store, values)
    write, fails = write_at, [True]

    def full(handle: int, parts: Any, offset: int) -> None:
        if fails[0] and (len(parts) == 1) == (part == "index"):
            os.pwrite(handle, bytes(memoryview(parts[0]).cast("B"))[:10], offset)
            raise OSError(number, os.strerror(number))
        write(handle, parts, offset)

    def no_files(folder: Path) -> Any:
        raise OSError(number, os.strerror(number))

    if part == "files":
        store.close()
        monkeypatch.setattr(shard_writer, "make_files", no_files)
    else:
        monkeypatch.setattr(write_several, "_pwritev", lambda: None)
        monkeypatch.setattr(shard_writer, "write_at", full)
    with pytest.warns(RuntimeWarning, match="nothing more is stored") as told:
        lost = fill(store, values, "lost")
    fill(store, values, "lost too")
    assert len(told) == 1
    assert store.find(lost) == [None] * 6
    assert store.statistics()["refused"] == 12
    for read, value in zip(found(store, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)
    monkeypatch.undo()
    # After a while it is tried again, and nothing is in the way of that.
    store._writer._stopped = 0.0
    fill(store, values, "later")
    other = opened(tmp_path)
    later = [digest(("later", one)) for one in range(6)]
    for read, value in zip(found(other, later), values, strict=True):
        np.testing.assert_array_equal(read, value)
    assert other.statistics()["damaged"] == 0


def test_a_limit_of_the_size_of_files(tmp_path: Path) -> None:
    store = opened(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, hard))
    try:
        with pytest.warns(RuntimeWarning, match="nothing more is stored"):
            keys = fill(store, blocks(3))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for number, read in enumerate(found(store, keys)):
        assert read is None or (read == blocks(1, number)[0]).all()


def test_a_folder_that_can_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = images(4)
    keys = fill(opened(tmp_path), values)
    before = sorted(tmp_path.iterdir())

    def refuse(*_: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(shard_writer, "make_files", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    store = opened(tmp_path)
    for read, value in zip(found(store, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)
    with pytest.warns(RuntimeWarning, match="Read-only") as told:
        fill(store, values, "new")
    fill(store, values, "newer")
    assert len(told) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["file", "file/sub/folder"])
def test_a_file_in_place_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("a file")
    what = "it" if name == "file" else str(tmp_path / "file")
    text = f"{name} cannot be used as a cache: {what} is a file and not a folder"
    with pytest.warns(RuntimeWarning, match=text) as told:
        store = DiskStore(tmp_path / name, None)
    fill(store, images(2))
    assert store.find([digest("x")]) == [None]
    assert len(told) == 1


def test_a_file_comes_in_place_of_the_folder(tmp_path: Path) -> None:
    store = opened(tmp_path / "cache")
    values = images(2)
    fill(store, values)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    with pytest.warns(RuntimeWarning, match="it is a file and not a folder") as told:
        keys = fill(store, values, "new")
    assert found(store, keys) == [None] * 2
    assert len(told) == 1


def test_a_folder_that_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    store = opened(folder)
    values = images(4)
    keys = fill(store, values)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    for read, value in zip(found(store, keys), values, strict=True):
        assert read is None or (read == value).all()
    new = fill(store, values, "new")
    for one in (store, opened(folder)):
        for read, value in zip(found(one, new), values, strict=True):
            np.testing.assert_array_equal(read, value)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root")
def test_files_of_other_users(tmp_path: Path) -> None:
    values = images(4)
    keys = fill(opened(tmp_path), values)
    for path in indices(tmp_path):
        os.chown(path, 12345, -1)
    with pytest.warns(RuntimeWarning, match="other users"):
        store = opened(tmp_path)
    assert store.find(keys) == [None] * 4
    # A user who is given a folder by another one trusts that one.
    os.chown(tmp_path, 12345, -1)
    assert None not in opened(tmp_path).find(keys)
    for path in indices(tmp_path):
        path.chmod(0o666)
    with pytest.warns(RuntimeWarning, match="other users"):
        assert opened(tmp_path).find(keys) == [None] * 4


def test_too_many_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = images(8, side=60)
    monkeypatch.setattr("gradiva.ops.cache.shard_files._FILES", 3)
    keys = []
    for number, value in enumerate(values):
        store = opened(tmp_path)
        keys += fill(store, [value], f"{number}")
        store.close()
    reader = opened(tmp_path)
    entries = reader.find(keys)
    assert sum(entry is not None and entry.opened is not None for entry in entries) < 8
    for read, value in zip(found(reader, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)
    real = os.open

    def none_left(path: Any, *more: Any) -> int:
        if str(path).endswith(".data"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *more)

    monkeypatch.setattr(os, "open", none_left)
    with pytest.warns(RuntimeWarning, match="Too many open files") as told:
        missing = sum(read is None for read in found(reader, keys))
    assert len(told) == 1
    assert missing > 0
    monkeypatch.undo()
    assert all(read is not None for read in found(reader, keys))
    assert reader.statistics()["damaged"] == 0


def test_shards_have_a_size(tmp_path: Path) -> None:
    assert disk_writer._LEAST_SHARD == 4 * MIB
    store = opened(tmp_path, 100 * MIB)
    fill(store, blocks(40))
    sizes = [path.stat().st_size for path in indices(tmp_path, ".data")]
    assert max(sizes) <= 4 * MIB
    assert len(sizes) in (5, 6)
    # What is larger than a shard has one of its own.
    keys = fill(store, [np.concatenate(blocks(12))], "large")
    assert None not in store.find(keys)
