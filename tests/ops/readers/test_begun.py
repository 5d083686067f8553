"""Clips that are begun before they are asked for: they are the same, and nothing is left."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.ops.readers.ahead import BegunAhead
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.plan import ShardedPlan
from gradiva.ops.readers.core.table import Records, Table, column
from gradiva.ops.readers.video.video_table import VideoTable

from ..video.bars import numbers_of, write

READER: Any = gradiva.experimental.readers.Video


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Videos of 40, 17 and 24 frames, in groups of 8."""
    made = tmp_path_factory.mktemp("videos")
    sizes = {"a": (40, 0), "b": (17, 50), "c": (24, 80)}
    return [
        write(made / f"{name}.mp4", "libx264", "mp4", frames, first=first, gop=8)
        for name, (frames, first) in sizes.items()
    ]


def taken(loop: Any, most: int = 1 << 20) -> list[list[int]]:
    """The frames of the clips of so many batches."""
    return [numbers_of(clip) for batch in itertools.islice(loop, most) for clip in batch.arrays()]


def of_threads(number: int) -> Any:
    return gradiva.EvalContext(num_threads=number)


@pytest.mark.full
@pytest.mark.parametrize(
    "given",
    [
        {"sequence_length": 4},
        {"sequence_length": 3, "stride": 2, "step": 1},
        {"sequence_length": 4, "random_shuffle": True, "seed": 5},
        {"sequence_length": 5, "pad_last_batch": True, "num_shards": 2, "shard_id": 1},
        {"sequence_length": 6, "pad_mode": "constant"},
    ],
)
def test_the_same_clips(paths: list[str], given: dict[str, Any]) -> None:
    """Whatever the number of threads, and where loops are left."""

    def shown(threads: int, batch_size: int, left: int | None) -> list[list[int]]:
        reader, context = READER(filenames=paths, **given), of_threads(threads)
        found: list[list[int]] = []
        for _ in range(2):
            loop = reader.next_epoch(batch_size, context)
            if left is not None:
                found += taken(loop, left)
                loop = reader.next_epoch(batch_size + 1, context)
            found += taken(loop)
        return found

    for threads, batch_size, left in ((2, 1, 3), (2, 3, None), (3, 2, 2), (5, 4, None)):
        assert shown(threads, batch_size, left) == shown(1, batch_size, left)


def test_places(paths: list[str]) -> None:
    """What was begun is forgotten where the reader goes elsewhere, and after another size."""
    reader = READER(filenames=paths, sequence_length=4)
    whole = taken(reader.next_epoch(batch_size=2))
    loop = reader.next_epoch(batch_size=2, ctx=of_threads(3))
    assert taken(loop, 3) == whole[:6]
    state = reader.get_state()
    assert taken(loop, 2) == whole[6:10]
    reader.set_state(state)
    assert taken(reader.next_epoch(batch_size=3, ctx=of_threads(2))) == whole[6:]


def test_one_batch_begins_no_other(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()
    begin = VideoTable.begin

    def count(table: VideoTable, indices: Any, pool: Any) -> Any:
        begun.append(len(indices))
        return begin(table, indices, pool)

    monkeypatch.setattr(VideoTable, "begin", count)
    reader = READER(filenames=paths, sequence_length=4)
    loop = reader.next_epoch(batch_size=2, ctx=of_threads(2))
    taken(loop, 1)
    assert begun == []
    taken(loop, 1)
    assert begun == [2, 2]
    taken(loop, 1)
    assert begun == [2, 2, 2]


def test_damaged_files(paths: list[str], tmp_path: Path) -> None:
    """An error is that of the batch it is in, and the next ones come."""
    bad = tmp_path / "bad.mp4"
    content = bytearray(Path(paths[0]).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 300] = b"\xff" * 300
    bad.write_bytes(content)
    files = [paths[1], str(bad), paths[2]]

    def met(threads: int) -> list[Any]:
        loop = READER(filenames=files, sequence_length=4).next_epoch(2, of_threads(threads))
        found: list[Any] = []
        while True:
            try:
                found += taken([next(loop)])
            except StopIteration:
                return found
            except gradiva.OperatorRuntimeError as error:
                found.append(str(error))

    def skipped(threads: int) -> tuple[Any, Any]:
        reader = READER(filenames=files, sequence_length=4, on_error="skip")
        with Quarantine(warns=False) as noted:
            found = taken(reader.next_epoch(2, of_threads(threads)))
        return found, [(one.file, one.reason) for one in noted]

    alone = met(1)
    assert any("bad.mp4" in one for one in alone if isinstance(one, str))
    assert met(3) == alone
    assert skipped(3) == skipped(1)
    assert skipped(1)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_a_fork(paths: list[str]) -> None:
    """A child process goes on alone with what its parent has begun."""
    reader = READER(filenames=paths, sequence_length=4)
    whole = taken(reader.next_epoch(batch_size=2))
    loop = reader.next_epoch(batch_size=2, ctx=of_threads(3))
    assert taken(loop, 3) == whole[:6]
    child = os.fork()
    if not child:
        os._exit(0 if taken(loop) == whole[6:] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert taken(loop) == whole[6:]


def test_nothing_is_left(paths: list[str]) -> None:
    """Threads go with the reader, also in the middle of an epoch."""
    before = threading.active_count()
    for _ in range(5):
        reader = READER(filenames=paths, sequence_length=4)
        loop = reader.next_epoch(batch_size=2, ctx=of_threads(2))
        taken(loop, 2)
        del reader, loop
    gc.collect()
    deadline = time.monotonic() + 20
    while threading.active_count() > before + 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before + 1


class _Held(Table):
    """Four samples, which are read when somebody opens the gate."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.stopped = list[list[int]]()

    def __len__(self) -> int:
        return 4

    def names(self, indices: Any) -> list[str]:
        return [f"sample {index}" for index in indices]

    def digest(self) -> dict[str, Any]:
        return {}

    def read(self, indices: Any, pool: Any) -> Records:
        return Records((column(indices, (1,), gradiva.types.INT64),), {})

    def begin(self, indices: Any, pool: Any) -> Any:
        return _HeldRead(self, indices)


class _HeldRead:
    def __init__(self, table: _Held, indices: Any) -> None:
        self._table, self._indices = table, indices

    def wait(self, pool: Any) -> Records:
        assert self._table.gate.wait(30)
        return self._table.read(self._indices, pool)

    def stop(self) -> None:
        self._table.stopped.append(self._indices.tolist())
        self._table.gate.set()


@pytest.mark.full
def test_closed_while_it_is_read() -> None:
    """Who waits gets an error, and nothing of what was stopped is delivered later."""
    table = _Held()
    cursor = Cursor(ShardedPlan(4, 1, False))
    source: Any = BegunAhead(cast("Any", table))
    pool = WorkerPool(2)
    source.read(cursor.take(1)[0], cursor, 1, pool)
    indices = cursor.take(1)[0]
    finalizer_thread = threading.Timer(0.3, source.close)
    finalizer_thread.start()
    with pytest.raises(gradiva.OperatorRuntimeError, match="closed"):
        source.read(indices, cursor, 1, pool)
    finalizer_thread.join()
    assert sorted(table.stopped) == [[1], [2], [3]]
    records = source.read(cursor.take(1)[0], cursor, 1, pool)
    assert np.asarray(records.columns[0].as_array()).tolist() == [[2]]


def test_users_keep_their_clips(paths: list[str]) -> None:
    """What is begun has memory of its own."""
    reader = READER(filenames=paths, sequence_length=4)
    kept = list(reader.next_epoch(batch_size=2, ctx=of_threads(3)))
    copies = [[np.array(clip) for clip in batch.arrays()] for batch in kept]
    taken(reader.next_epoch(batch_size=2, ctx=of_threads(3)))
    for batch, copied in zip(kept, copies, strict=True):
        for clip, copy in zip(batch.arrays(), copied, strict=True):
            np.testing.assert_array_equal(clip, copy)
