"""`readers.file`: what is read, in which order, in which shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn, readers
from gradiva.eager.operators.interpreter import eager_interpreter, interpreter
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.plan import ShardedPlan
from tests.tiers import examples


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders b (2 files), a (1), empty (0) and .hid (1), and other files."""
    for name, data in {
        "b/2.jpg": b"b2",
        "b/1.JPG": b"b1",
        "b/note.txt": b"x",
        "a/10.png": b"a10",
        ".hid/h.jpg": b"h",
        "loose.jpg": b"x",
        "b/deep/d.jpg": b"x",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "empty").mkdir()
    return tmp_path


def read(**arguments: Any) -> list[tuple[bytes, int]]:
    found = []
    for files, labels in readers.File(**arguments).next_epoch(batch_size=2):
        found += [
            (np.asarray(file).tobytes(), int(label[0].item()))
            for file, label in zip(files, labels, strict=True)
        ]
    return found


def test_folders_are_labels(tree: Path) -> None:
    root = str(tree)
    assert read(file_root=root) == [(b"h", 0), (b"a10", 1), (b"b1", 2), (b"b2", 2)]
    assert read(file_root=root, dir_filters="b*") == [(b"b1", 0), (b"b2", 0)]
    assert read(file_root=root, file_filters=["*.png", "*.txt"]) == [(b"a10", 1), (b"x", 2)]
    sensitive = read(file_root=root, case_sensitive_filter=True)
    assert sensitive == [(b"h", 0), (b"a10", 1), (b"b2", 2)]


def test_lists(tree: Path) -> None:
    root = str(tree)
    assert read(file_root=root, files=["b/2.jpg", "a/10.png"]) == [(b"b2", 0), (b"a10", 1)]
    labeled = read(files=[f"{root}/b/2.jpg"] * 2, labels=[7, -3])
    assert labeled == [(b"b2", 7), (b"b2", -3)]
    (tree / "a b.jpg").write_bytes(b"spaced")
    (tree / "list.txt").write_text(
        "b/2.jpg 5\n\na b.jpg\t 6  \n a b.jpg 1\n".replace("\n a", "\na")
    )
    listed = read(file_list=str(tree / "list.txt"))
    assert listed == [(b"b2", 5), (b"spaced", 6), (b"spaced", 1)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "give one of"),
        ({"files": ["x"], "file_list": "y"}, "not both"),
        ({"labels": [1], "file_root": "."}, "`labels` belong to `files`"),
        ({"files": ["x"], "labels": [1, 2]}, "one per file, 1"),
        ({"files": []}, "at least one file"),
        ({"file_list": "/nowhere/list.txt"}, "No such file"),
        ({"files": ["x"], "num_shards": 2}, "more shards than"),
        ({"files": ["x"] * 3, "num_shards": 2, "shard_id": 2}, "`shard_id`"),
        ({"files": ["x"], "num_shards": 0}, "`num_shards`"),
        ({"files": ["x"], "random_shuffle": True, "shuffle_after_epoch": True}, "together"),
        ({"files": ["x"], "stick_to_shard": True, "shuffle_after_epoch": True}, "together"),
    ],
)
def test_refusals(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        readers.File(**arguments)
    assert str(caught.value).startswith("readers.file: ")


@pytest.mark.parametrize("line", ["only_a_path", "path -3", "path 1.5", "path 99999999999"])
def test_bad_list_lines(tmp_path: Path, line: str) -> None:
    (tmp_path / "list.txt").write_text(f"good.jpg 1\n{line}\n")
    with pytest.raises(ValueError, match=rf"(?s)line 2: '{line}'.*list.txt"):
        readers.File(file_list=str(tmp_path / "list.txt"))


def test_lazy_init(tree: Path) -> None:
    reader = readers.File(file_root=str(tree / "later"), lazy_init=True)
    with pytest.raises(ValueError, match="`file_root`"):
        reader.get_metadata()
    (tree / "later/x").mkdir(parents=True)
    (tree / "later/x/1.jpg").write_bytes(b"1")
    assert reader.get_metadata()["epoch_size"] == 1


def test_read_ahead_changes_nothing(tree: Path) -> None:
    ahead = read(file_root=str(tree), read_ahead=True, prefetch_queue_depth=2)
    assert ahead == read(file_root=str(tree))


@settings(max_examples=examples(150), deadline=None)
@given(
    size=st.integers(1, 257),
    batch=st.integers(1, 33),
    shards=st.integers(1, 8),
    pad=st.booleans(),
    stick=st.booleans(),
    shuffle=st.booleans(),
)
def test_each_sample_once_per_epoch(
    size: int, batch: int, shards: int, pad: bool, stick: bool, shuffle: bool
) -> None:
    """The shards of an epoch make up the data set exactly; padding repeats the last sample; no
    batch is empty; no two samples share a position."""
    if shards > size:
        return
    plans = [ShardedPlan(size, 3, shuffle, shards, shard, stick, pad) for shard in range(shards)]
    cursors = [Cursor(plan) for plan in plans]
    positions: list[int] = []
    for epoch in range(3):
        seen: list[int] = []
        for plan, cursor in zip(plans, cursors, strict=True):
            length = cursor.length
            assert cursor.epoch == epoch
            got: list[int] = []
            while True:
                try:
                    samples, places = cursor.take_in_epoch(batch)
                except StopIteration:
                    break
                assert 0 < len(samples) <= batch
                got += samples.tolist()
                positions += places.tolist()
            shard = (plan.shard_id + (0 if stick else epoch)) % shards
            owned = size * (shard + 1) // shards - size * shard // shards
            if pad:
                assert len(got) % batch == 0
                assert length == -(-size // shards)
                assert set(got[owned:]) <= {got[owned - 1]}
            else:
                assert len(got) == length == owned
            seen += got[:owned]
        assert sorted(seen) == list(range(size))
    assert len(set(positions)) == len(positions)


@settings(max_examples=examples(100), deadline=None)
@given(
    size=st.integers(1, 50),
    batch=st.integers(1, 33),
    other=st.integers(1, 33),
    shards=st.integers(1, 4),
    shuffle=st.booleans(),
)
def test_the_stream_does_not_depend_on_the_batch_size(
    size: int, batch: int, other: int, shards: int, shuffle: bool
) -> None:
    if shards > size:
        return

    def stream(step: int) -> list[tuple[int, int]]:
        cursor = Cursor(ShardedPlan(size, 8, shuffle, shards, shards - 1))
        pairs: list[tuple[int, int]] = []
        while len(pairs) < 120:
            samples, positions = cursor.take(step)
            assert len(samples) == step
            pairs += list(zip(samples.tolist(), positions.tolist(), strict=True))
        return pairs[:120]

    assert stream(batch) == stream(other)


def test_epochs_are_shuffled_anew_and_repeatably() -> None:
    cursor, again = (Cursor(ShardedPlan(50, 1, True)) for _ in range(2))
    epochs = [cursor.take(50)[0].tolist() for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert epochs == [again.take(50)[0].tolist() for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)


def test_state(photographs: Path) -> None:
    def order(reader: Any, batches: int) -> list[str]:
        names: list[str] = []
        while batches:
            for files, _labels in reader.next_epoch(batch_size=2):
                names += files.source_info()
                batches -= 1
                if not batches:
                    break
        return names

    reader = readers.File(file_root=str(photographs), random_shuffle=True, seed=4)
    order(reader, 6)
    state = reader.get_state()
    rest = order(reader, 5)
    fresh = readers.File(file_root=str(photographs), random_shuffle=True, seed=4)
    fresh.set_state(state)
    assert order(fresh, 5) == rest
    with pytest.raises(ValueError, match="belongs to other data"):
        fresh.set_state({**state, "size": 3})
    with pytest.raises(ValueError, match="not the state of a reader"):
        fresh.set_state({})


def test_a_loop_that_was_left_goes_on(photographs: Path) -> None:
    reader = readers.File(file_root=str(photographs))
    (first, _labels) = next(iter(reader.next_epoch(batch_size=3)))
    rest = [files.source_info() for files, _ in reader.next_epoch(batch_size=3)]
    assert [len(names) for names in rest] == [3, 1]
    everything = first.source_info() + rest[0] + rest[1]
    assert len(set(everything)) == 7
    assert len(list(reader.next_epoch(batch_size=3))) == 3


def test_samples_and_progress(photographs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = readers.File(file_root=str(photographs))
    samples = list(reader.next_epoch())
    assert len(samples) == 7
    assert all(isinstance(value, gradiva.Tensor) for pair in samples for value in pair)
    assert len(list(reader.next_epoch(batch_size=2, progress=True))) == 4
    loop = reader.next_epoch(batch_size=2, progress=True, capture=True)
    assert len([gradiva.decoders.image(files).evaluate() for files, _ in loop]) == 4
    assert loop.explain().share == 1.0
    assert "7/7" in capsys.readouterr().err
    with pytest.raises(ValueError, match="`batch_size`"):
        reader.next_epoch(batch_size=0)


def test_in_dynamic_mode_the_operator_points_to_the_class() -> None:
    files, _ = fn.readers.file(file_root="x")  # symbols for a pipeline, without data
    with pytest.raises(TypeError, match=r"outside of any pipeline at .*test_readers\.py"):
        len(files)
    with (
        interpreter(eager_interpreter()),
        pytest.raises(TypeError, match=r"use its class \(readers.File"),
    ):
        fn.readers.file(file_root="x")


def test_a_context_lends_its_threads(photographs: Path) -> None:
    reader = readers.File(file_root=str(photographs))
    loop = reader.next_epoch(batch_size=2, ctx=gradiva.EvalContext(num_threads=3), capture=True)
    for files, _ in loop:
        gradiva.decoders.image(files).evaluate()
        ahead = getattr(loop, "_prefetcher")  # noqa: B009
        assert ahead is None or ahead.pool.num_threads == 3
    assert len(list(reader.next_epoch(2, gradiva.EvalContext(num_threads=1)))) == 4
    with pytest.raises(TypeError, match="ctx"):
        reader.next_epoch(2, ctx=3)


def test_lists_with_unusual_names(tmp_path: Path) -> None:
    """Only line breaks end lines; a byte order mark is no part of a name; NUL is in none."""
    names = ["good.jpg", "a\u2028b.jpg", "a\x0bb.jpg", "a\x85 c.jpg"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    listed = tmp_path / "list.txt"
    text = "\ufeff" + "".join(f"{name} {number}\n" for number, name in enumerate(names))
    listed.write_bytes(text.replace("\n", "\r\n", 1).encode())
    ((files, labels),) = gradiva.readers.File(file_list=listed).next_epoch(batch_size=9)
    assert [one.tobytes().decode() for one in files.arrays()] == names
    assert labels.as_array().ravel().tolist() == [0, 1, 2, 3]
    listed.write_bytes(b"good.jpg 1\na\0b.jpg 2\n")
    with pytest.raises(gradiva.OperatorValueError, match="line 2"):
        gradiva.readers.File(file_list=listed)
