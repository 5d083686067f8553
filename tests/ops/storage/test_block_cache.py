"""The cache on disk: shared, limited, and never believed where it is damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.storage.block_cache import BlockCache
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.ranges import BLOCK, Want
from gradiva.ops.storage.storage import Storage
from tests.tiers import few

from .loopback import Loopback

DATA = bytes(range(251)) * (2 * BLOCK // 251 + 5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADIVA_STORAGE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def blocks(folder: Path) -> list[Path]:
    return sorted((folder / "blocks").iterdir())


def taken(url: str, begin: int, end: int) -> bytes:
    storage = Storage()
    (found,) = storage.take([Want(url, begin, end)])
    assert not isinstance(found, StorageError), found
    storage.close()
    return b"".join(found)


def test_a_block_is_fetched_once(server: Loopback, folder: Path) -> None:
    server.objects["/a"] = DATA
    url = server.url + "/a"
    assert taken(url, 10, 20) == DATA[10:20]
    assert [one[2] for one in server.asked()] == [f"bytes=0-{BLOCK - 1}"]
    assert taken(url, BLOCK - 5, BLOCK + 5) == DATA[BLOCK - 5 : BLOCK + 5]
    assert len(server.asked()) == 2
    assert taken(url, 100, 2 * BLOCK) == DATA[100 : 2 * BLOCK]
    assert len(server.asked()) == 2
    storage = Storage()
    assert storage.read(url) == DATA
    storage.close()
    assert Storage().read(url) == DATA
    asked = len(server.asked())
    assert Storage().read(url) == DATA
    assert len(server.asked()) == asked
    # Another object under this name has other blocks.
    server.objects["/a"] = DATA[::-1]
    assert taken(url, 10, 20) == DATA[::-1][10:20]


@pytest.mark.parametrize("damage", few(["flip", "cut", "empty", "other", "gone"], "flip"))
def test_a_damaged_block_is_fetched_again(server: Loopback, folder: Path, damage: str) -> None:
    server.objects["/a"] = DATA[: 2 * BLOCK]
    url = server.url + "/a"
    assert taken(url, 0, 2 * BLOCK) == DATA[: 2 * BLOCK]
    one, other = blocks(folder)
    content = one.read_bytes()
    if damage == "flip":
        one.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "cut":
        one.write_bytes(content[:-1])
    elif damage == "empty":
        one.write_bytes(b"")
    elif damage == "other":
        one.write_bytes(other.read_bytes())
    else:
        one.unlink()
    asked = len(server.asked())
    assert taken(url, 0, 2 * BLOCK) == DATA[: 2 * BLOCK]
    assert len(server.asked()) == asked + 1
    assert blocks(folder) == [one, other]
    assert one.read_bytes() == content


def test_the_folder_does_not_grow_beyond_its_limit(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, 100_000)
    content = bytes(9_000)
    for number in range(40):
        cache.write("u", "1", number * 9_000, content)
        if number >= 5:  # block 5 is read all the time
            place = cache._place(f"block 1 {45_000} {54_000} 1\0u")
            assert cache.read("u", "1", 45_000, 54_000) == content
            os.utime(place, (2e9, 2e9))
    held = sum(path.stat().st_size for path in (tmp_path / "blocks").iterdir())
    assert 50_000 < held <= 110_000
    assert cache.read("u", "1", 39 * 9_000, 40 * 9_000) == content
    assert cache.read("u", "1", 0, 9_000) is None


def test_a_folder_that_others_can_write_into_is_refused(server: Loopback, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(OperatorRuntimeError, match=r"GRADIVA_STORAGE_CACHE: .*others can write"):
        Storage().read(server.url + "/a")


def test_a_full_disk_costs_no_more_than_time(
    server: Loopback, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.objects["/a"] = DATA
    cache = BlockCache(folder, 1 << 30)
    (folder / "unfinished").rmdir()
    (folder / "unfinished").write_text("no folder")
    with pytest.warns(RuntimeWarning, match="set GRADIVA_STORAGE_CACHE to a folder with room"):
        cache.write("u", "1", 0, b"x")
    cache.write("u", "1", 0, b"x")
    assert cache.read("u", "1", 0, 1) is None


WRITER = """
import sys
from pathlib import Path
from gradiva.ops.storage.block_cache import BlockCache
cache = BlockCache(Path(sys.argv[1]), 1 << 30)
number = 0
while True:
    cache.write("u", "1", number * 100000, bytes([number % 251]) * 100000)
    number = (number + 1) % 50
    if number == 3:
        print("written", flush=True)
"""


@pytest.mark.full
def test_a_writer_that_is_killed_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"written\n"
            writer.send_signal(signal.SIGKILL)
    cache = BlockCache(tmp_path, 1 << 30)
    whole = 0
    for number in range(50):
        found = cache.read("u", "1", number * 100_000, (number + 1) * 100_000)
        whole += found is not None
        assert found in (None, bytes([number % 251]) * 100_000)
    assert whole >= 3
    assert len(blocks(tmp_path)) == whole
