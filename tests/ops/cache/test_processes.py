"""Several processes with one folder: they see what the others publish, and a kill costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gradiva.ops.cache.disk_store import DiskStore
from gradiva.ops.cache.memory_store import MemoryStore
from gradiva.ops.cache.opening import open_store
from gradiva.ops.cache.store import Store

from .samples import LARGE, digest, fill, found, images, opened

WRITER = """
import sys
from pathlib import Path
from tests.ops.cache.test_processes import write
write(Path(sys.argv[1]), sys.argv[2], 0, 1)
"""


def write(folder: Path, name: str, number: int, says: int) -> None:
    """Store one batch after the other, and each time write how many there are, until a kill."""
    store = opened(folder)
    while True:
        chosen = range(number, number + 3)
        keys = [digest((name, one)) for one in chosen]
        values = [np.full(50_000 + one % 1000, one % 251, np.uint8) for one in chosen]
        store.put_many(keys, values, "X", [0.1] * 3)
        number += 3
        os.write(says, f"{number}\n".encode())


def check(store: DiskStore, name: str, count: int) -> int:
    """Verify what a writer has stored; returns how many of its entries there are."""
    for number, read in enumerate(found(store, [digest((name, one)) for one in range(count)])):
        if read is None:
            return number
        assert len(read) == 50_000 + number % 1000
        assert (read == number % 251).all()
    return count


KILLER = """
import os, signal, sys, time
import numpy as np
from pathlib import Path
from tests.ops.cache.samples import opened
from tests.ops.cache.test_processes import check, write
folder, kills = Path(sys.argv[1]), int(sys.argv[2])
opened(folder).put(bytes(16), np.zeros(3, np.uint8), "", 0.0)  # the kernels are compiled
chance = np.random.default_rng(kills)
stored = 0
for number in range(kills):
    output, says = os.pipe()
    child = os.fork()
    if not child:
        write(folder, "killed", stored, says)
    os.close(says)
    time.sleep(float(chance.uniform(0, 0.02)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(output) as stream:
        said = [int(one) for one in stream.read().split()]
    reader = opened(folder)
    there = check(reader, "killed", stored + 3000)
    # Nothing that was published is lost; the batch that was being stored may be there.
    assert max(said, default=stored) <= there <= max(said, default=stored) + 3, (there, said)
    assert reader.statistics()["damaged"] == 0
    stored = there
    if number % 20 == 19:
        for path in folder.iterdir():
            path.unlink()
        stored = 0
print("all is there")
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_200_kills_at_any_moment(tmp_path: Path) -> None:
    program = [sys.executable, "-c", KILLER, str(tmp_path), "200"]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.stdout == "all is there\n", ended.stderr


@pytest.mark.full
def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    reader = opened(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "other")
    ]
    counts = []
    for process in processes:
        assert process.stdout is not None
        lines = [int(process.stdout.readline()) for _ in range(5)]
        counts.append(lines[-1])
    for process in processes:
        process.kill()
        process.communicate()
    reader._folder._due = 0.0
    for name, count in zip(("one", "other"), counts, strict=True):
        assert check(reader, name, count) == count


def test_what_others_publish_is_seen_without_opening_again(tmp_path: Path) -> None:
    reader, writer = opened(tmp_path), opened(tmp_path)
    values = images(6)
    for part in range(3):
        keys = fill(writer, values, f"{part}")
        reader._folder._due = 0.0
        for read, value in zip(found(reader, keys), values, strict=True):
            np.testing.assert_array_equal(read, value)
    # What another one has stored is not stored again.
    fill(reader, values, "1")
    assert reader.statistics()["stored"] == 0


def test_it_looks_once_in_a_while(tmp_path: Path) -> None:
    reader = opened(tmp_path)
    looks = []
    reader._folder._look = lambda: looks.append(1)  # type: ignore[method-assign]
    reader._folder._due = 0.0
    for _ in range(100):
        reader.find([digest("missing")])
    assert len(looks) < 10


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_threads_put_the_same(tmp_path: Path, where: str) -> None:
    store: Store = opened(tmp_path) if where == "disk" else MemoryStore(1 << 30)
    values = images(20)
    threads = [threading.Thread(target=fill, args=(store, values)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.statistics()["stored"] == 20
    keys = fill(store, values)
    for read, value in zip(found(store, keys), values, strict=True):
        np.testing.assert_array_equal(read, value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_has_a_shard_of_its_own(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), LARGE)
    memory = MemoryStore(LARGE)
    values = images(5)
    keys = fill(store, values)
    fill(memory, values)
    assert isinstance(store, DiskStore)
    lock = store._lock
    with lock:  # as another thread may hold it
        child = os.fork()
        if not child:
            status = 1
            try:
                same = all(
                    read is not None and (read == value).all()
                    for one in (store, memory)
                    for read, value in zip(found(one, keys), values, strict=True)
                )
                fill(store, values, "child")
                status = 0 if same else 2
            finally:
                os._exit(status)
    fill(store, values, "parent")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(tmp_path.glob("*.index"))) == 2
    reader = opened(tmp_path)
    for name in ("", "child", "parent"):
        names = [digest((name, one)) for one in range(5)]
        for read, value in zip(found(reader, names), values, strict=True):
            np.testing.assert_array_equal(read, value)
