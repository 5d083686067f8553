"""readers.file against DALI: which files, which labels, in which order."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import GradivaError

from .pictures import FOLDER
from .reference import REFUSALS, dali, fn, run

TREE = (
    "b/2.jpg", "b/10.jpg", "b/1.JPG", "a/z.png", "a/Z.png", "a/y.txt", "B/1.jpg", "c10/a.bmp",
    "c2/a.bmp", "a/sub/deep.jpg", "top.jpg", ".hid/1.jpg", "b/.h.jpg", "d/only.txt", "e e/f g.jpg",
)  # fmt: skip

Read = list[tuple[bytes, int]]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders and files, each holding its own name."""
    root = tmp_path_factory.mktemp("tree")
    for name in TREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


def reference(count: int, batch_size: int = 1, **arguments: Any) -> Read:
    """The first `count` samples, across epochs."""
    pipeline = dali.Pipeline(
        batch_size=batch_size, num_threads=1, device_id=None, seed=3, prefetch_queue_depth=1
    )
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(name="R", **arguments))
    pipeline.build()
    found: Read = []
    while len(found) < count:
        files, labels = pipeline.run()
        for i in range(batch_size):
            assert labels.at(i).shape == (1,)
            assert labels.at(i).dtype == np.int32
            found.append((np.array(files.at(i)).tobytes(), int(labels.at(i)[0])))
    return found[:count]


def piped(count: int, batch_size: int = 1, **arguments: Any) -> Read:
    """The same from a pipeline of ours."""

    @gradiva.pipeline_def(batch_size=batch_size, num_threads=1, device_id=None, seed=3)
    def pipe() -> Any:
        return gradiva.fn.readers.file(name="R", **arguments)

    pipeline = pipe()
    found: Read = []
    while len(found) < count:
        files, labels = pipeline.run()
        for i in range(batch_size):
            label = labels.at(i)
            assert label.shape == (1,)
            assert label.dtype == np.int32
            found.append((files.at(i).tobytes(), int(label[0])))
    return found[:count]


def eager(**arguments: Any) -> Read:
    """One epoch in dynamic mode."""
    reader = gradiva.readers.File(**arguments)
    return [
        (files.at(i).tobytes(), int(labels.at(i)[0]))
        for files, labels in reader.next_epoch(batch_size=4)
        for i in range(len(files))
    ]


def agree(**arguments: Any) -> None:
    """One epoch, in both modes; or all refuse."""
    try:
        size = _epoch_size(**arguments)
        expected = reference(size, **arguments)
    except REFUSALS:
        with pytest.raises(GradivaError):
            eager(**arguments)
        with pytest.raises(GradivaError):
            piped(1, **arguments)
        return
    assert eager(**arguments) == expected
    assert piped(size, **arguments) == expected


def _epoch_size(**arguments: Any) -> int:
    pipeline = dali.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(name="R", **arguments))
    pipeline.build()
    return int(pipeline.reader_meta("R")["epoch_size"])


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"file_filters": ["*.txt"]},
        {"file_filters": ["*.JPG"]},
        {"file_filters": "*.png"},
        {"file_filters": ["?.jpg", "[12]*.JPG"], "case_sensitive_filter": True},
        {"dir_filters": ["b"]},
        {"dir_filters": ["B"], "case_sensitive_filter": True},
        {"dir_filters": ["c*", "a"]},
        {"file_filters": ["*.png", "z*"]},
        {"file_filters": ["*"]},
        {"file_filters": ["*.nothing"]},
        {"dir_filters": ["nothing"]},
    ],
    ids=str,
)
def test_folders(tree: Path, filters: dict[str, Any]) -> None:
    agree(file_root=str(tree), **filters)


@pytest.mark.parametrize(
    "text",
    [
        "b/2.jpg 5\nb/10.jpg 7\n",
        "b/2.jpg 5",
        "e e/f g.jpg 3\n",
        "b/2.jpg\n",
        "b/2.jpg\t4\n",
        "b/2.jpg 4\n\nb/10.jpg 2\n",
        "b/2.jpg 4 \n",
        "b/2.jpg 4\r\n",
        "b/2.jpg 1.5\n",
        "b/2.jpg xyz\n",
        "b/2.jpg -7\n",
        "# c\nb/2.jpg 1\n",
        "b/2.jpg   12\n",
        "",
        "\n\n",
        "b/2.jpg 1\nb/2.jpg 2\n",
        "b/none.jpg 1\n",
        "b/2.jpg 2147483647\n",
        "b/2.jpg 007\n",
        " b/2.jpg 1\n",
        "b/2.jpg 1\n \nb/10.jpg 2\n",
    ],
    ids=repr,
)
def test_lists(tree: Path, text: str, tmp_path: Path) -> None:
    beside = tree / "list.lst"
    beside.write_bytes(text.encode())
    agree(file_list=str(beside))
    elsewhere = tmp_path / "list.lst"
    elsewhere.write_bytes(text.encode())
    agree(file_list=str(elsewhere), file_root=str(tree))
    agree(file_list=str(elsewhere))


def test_absolute_paths(tree: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.lst"
    listed.write_text(f"{tree / 'b/2.jpg'} 3\n")
    agree(file_list=str(listed))
    agree(file_list=str(listed), file_root="/nowhere")
    agree(files=[str(tree / "b/2.jpg")], file_root="/nowhere")


def test_labels_over_int32(tree: Path) -> None:
    """They wrap around in DALI; ours refuses them."""
    listed = tree / "large.lst"
    listed.write_text("b/2.jpg 4294967298\n")
    assert reference(1, file_list=str(listed)) == [(b"b/2.jpg", 2)]
    with pytest.raises(GradivaError, match="line 1"):
        eager(file_list=str(listed))


def test_files(tree: Path) -> None:
    names = ["b/2.jpg", "a/y.txt", "b/2.jpg", "top.jpg"]
    given: tuple[dict[str, Any], ...] = (
        {},
        {"labels": [5, -3, 0, 5]},
        {"labels": [1, 2]},
        {"labels": []},
    )
    for labels in given:
        agree(files=names, file_root=str(tree), **labels)
    agree(files=[str(tree / name) for name in names])


@pytest.mark.parametrize("case", range(8))
def test_refusals(tree: Path, tmp_path: Path, case: int) -> None:
    root = str(tree)
    arguments: dict[str, Any] = (
        {"file_root": str(tmp_path)},
        {"file_root": str(tmp_path / "none")},
        {},
        {"files": []},
        {"file_root": root, "labels": [1]},
        {"file_root": root, "num_shards": 100},
        {"file_root": root, "num_shards": 2, "shard_id": 2},
        {"file_root": root, "random_shuffle": True, "shuffle_after_epoch": True},
    )[case]
    with pytest.raises(REFUSALS):
        reference(1, **arguments)
    agree(**arguments)


@pytest.mark.parametrize("size", [1, 7, 10])
def test_shards(tmp_path: Path, size: int) -> None:
    """Which samples belong to which shard, epoch after epoch, padded or not, moving or not."""
    (tmp_path / "a").mkdir()
    for i in range(size):
        (tmp_path / "a" / f"{i}.jpg").write_bytes(str(i).encode())
    for count in sorted({1, min(2, size), min(3, size), size}):
        for shard in {0, count // 2, count - 1}:
            for batch_size in (1, 3):
                for pad in (False, True):
                    for stick in (False, True):
                        arguments: dict[str, Any] = {
                            "file_root": str(tmp_path),
                            "num_shards": count,
                            "shard_id": shard,
                            "pad_last_batch": pad,
                            "stick_to_shard": stick,
                            "batch_size": batch_size,
                            "count": 2 * size + 7,
                        }
                        assert piped(**arguments) == reference(**arguments), arguments


@pytest.mark.parametrize("pad", [False, True])
def test_epochs_of_dynamic_mode(tmp_path: Path, pad: bool) -> None:
    """Three epochs of batches, as DALI's dynamic mode gives them.

    Where epochs are not padded, DALI fills the last batch from the next shard and drops
    those from the next epoch; ours ends the epoch with a smaller batch and drops nothing.
    """
    ndd = pytest.importorskip("nvidia.dali.experimental.dynamic")
    (tmp_path / "a").mkdir()
    for i in range(10):
        (tmp_path / "a" / f"{i}.jpg").write_bytes(str(i).encode())
    arguments: dict[str, Any] = {
        "file_root": str(tmp_path),
        "num_shards": 3,
        "shard_id": 1,
        "pad_last_batch": pad,
    }
    theirs, mine = ndd.readers.File(**arguments), gradiva.readers.File(**arguments)
    expected, got = (
        [
            [
                [int(np.asarray(tensor).tobytes()) for tensor in files.tensors]
                for files, _ in reader.next_epoch(batch_size=3)
            ]
            for _ in range(3)
        ]
        for reader in (theirs, mine)
    )
    if pad:
        assert got == expected
    else:
        assert expected == [[[3, 4, 5]], [[6, 7, 8], [9, 0, 1]], [[2, 3, 4]]]
        assert got == [[[3, 4, 5]], [[6, 7, 8], [9]], [[0, 1, 2]]]


@pytest.mark.parametrize("shards", [1, 3])
def test_metadata(tree: Path, shards: int) -> None:
    arguments: dict[str, Any] = {
        "file_root": str(tree),
        "num_shards": shards,
        "pad_last_batch": True,
    }
    pipeline = dali.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(name="R", **arguments))
    pipeline.build()
    assert gradiva.readers.File(**arguments).get_metadata() == pipeline.reader_meta("R")


def test_shuffled_epochs_hold_every_file(tree: Path) -> None:
    """Orders are drawn differently; each epoch of ours is a permutation of the data set."""
    size = _epoch_size(file_root=str(tree))
    everything = sorted(reference(size, file_root=str(tree)))
    stream = iter(piped(3 * size, file_root=str(tree), random_shuffle=True))
    epochs = [list(islice(stream, size)) for _ in range(3)]
    assert all(sorted(epoch) == everything for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_photographs() -> None:
    agree(file_root=str(FOLDER))
    (files, labels) = run(lambda: fn.readers.file(file_root=str(FOLDER)), 7)
    ours, our_labels = next(gradiva.readers.File(file_root=str(FOLDER)).next_epoch(batch_size=7))
    assert [sample.tobytes() for sample in files] == [ours.at(i).tobytes() for i in range(7)]
    assert [int(label[0]) for label in labels] == our_labels.as_array().ravel().tolist()


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    names=st.lists(st.sampled_from(TREE), min_size=1, max_size=9, unique=True),
    labels=st.none() | st.lists(st.integers(-5, 99), min_size=9, max_size=9),
    shards=st.integers(1, 4),
    data=st.data(),
)
def test_drawn(
    tree: Path, names: list[str], labels: list[int] | None, shards: int, data: st.DataObject
) -> None:
    """One epoch of some files in any order, of the first shard, whose epoch is the whole list."""
    more: dict[str, Any] = {} if labels is None else {"labels": labels[: len(names)]}
    if data.draw(st.booleans()):
        more["file_root"] = str(tree)
    else:
        names = [str(tree / name) for name in names]
    agree(files=names, **more)
    size = data.draw(st.integers(1, 4))
    shard = {"num_shards": shards, "shard_id": data.draw(st.integers(0, shards - 1))}
    if len(names) >= shards:
        given_all = {"files": names, **more, **shard}
        assert piped(12, size, **given_all) == reference(12, size, **given_all)
