"""readers.caffe and readers.caffe2: messages in LMDB files, and the files themselves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.ops.readers.records.caffe import DatumTable
from gradiva.ops.readers.records.caffe_messages import fields
from gradiva.ops.readers.records.lmdb_tree import open_database

from .formats import datum, message, tensor, tensors, varint, write_lmdb


def records(values: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(b"%05d" % number, value) for number, value in enumerate(values)]


def read(kind: Any, path: str, **arguments: Any) -> list[Any]:
    """For each output its samples."""
    found = next(kind(path=path, **arguments).next_epoch(batch_size=100))
    batches = found if isinstance(found, tuple) else (found,)
    return [[batch.array(sample) for sample in range(len(batch))] for batch in batches]


def test_datums(tmp_path: Path) -> None:
    pixels = np.arange(24, dtype=np.uint8)
    raw = [
        datum(pixels.tobytes(), 3, 2, 3, 4, encoded=0),
        datum(b"abcdef", None, 1, 2, 3, encoded=0),
    ]
    images, labels = read(gradiva.readers.Caffe, write_lmdb(tmp_path / "raw", records(raw)))
    np.testing.assert_array_equal(images[0], pixels.reshape(3, 4, 2))  # as they lie
    assert images[1].shape == (2, 3, 1)
    assert [label.tolist() for label in labels] == [[3], []]
    packed = [datum(b"jpeg", -5, encoded=1), datum(b"more", 7)]
    path = write_lmdb(tmp_path / "packed", records(packed))
    images, labels = read(gradiva.readers.Caffe, path)
    assert [image.tobytes() for image in images] == [b"jpeg", b"more"]
    assert [label.tolist() for label in labels] == [[-5], [7]]
    (labels,) = read(gradiva.readers.Caffe, path, image_available=False)
    assert [label.tolist() for label in labels] == [[-5], [7]]
    (images,) = read(gradiva.readers.Caffe, path, label_available=False)
    assert len(images) == 2


def test_several_databases(tmp_path: Path) -> None:
    paths = [write_lmdb(tmp_path / name, records([datum(name.encode(), 1)] * 2)) for name in "ba"]
    reader = gradiva.readers.Caffe(path=[paths[0], f"{paths[1]}/data.mdb"], label_available=False)
    found = next(reader.next_epoch(batch_size=4))
    assert [found.array(sample).tobytes() for sample in range(4)] == [b"b", b"b", b"a", b"a"]
    assert found.source_info()[1::2] == [
        f"{paths[0]} at key 00001",
        f"{paths[1]}/data.mdb at key 00001",
    ]


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_trees_of_any_depth(page_size: int, tmp_path: Path) -> None:
    drawn = random.Random(page_size)
    written = {
        b"%d" % drawn.randrange(1 << 60): drawn.randbytes(drawn.choice((0, 3, 90, 700, 9000)))
        for _ in range(300)
    }
    path = write_lmdb(tmp_path / "data", list(written.items()), page_size)
    table = DatumTable(open_database([path]), images=True, labels=True)
    batch = table.bytes_of(np.arange(300), default_pool(), {})
    found = [batch.array(sample).tobytes() for sample in range(300)]
    assert found == [value for _, value in sorted(written.items())]
    assert table.names(np.array([0])) == [f"{path} at key {min(written).decode()}"]


def image_and(*parts: bytes) -> bytes:
    return tensors(tensor(4, b"jpeg"), *parts)


@pytest.mark.parametrize(
    ("arguments", "record", "expected"),
    [
        ({}, image_and(tensor(2, [-4])), np.array([-4], np.int32)),
        (
            {"label_type": 1, "num_labels": 5},
            image_and(tensor(2, [3, 0])),
            np.array([1, 0, 0, 1, 0], np.int32),
        ),
        ({"label_type": 2}, image_and(tensor(1, [0.5, 2])), np.array([0.5, 2], np.float32)),
        ({"label_type": 2}, image_and(tensor(2, [5, 2])), np.array([5, 2], np.int32)),
        (
            {"label_type": 3, "num_labels": 4},
            image_and(tensor(2, [3, 0]), tensor(1, [0.5, 2])),
            np.array([2, 0, 0, 0.5], np.float32),
        ),
        (
            {"label_type": 4, "additional_inputs": 1},
            image_and(tensor(2, [3]), tensor(10, [1 << 40, 2], [2, 1])),
            np.array([[1 << 40], [2]], np.int64),
        ),
        ({"label_type": 4, "bbox": True}, image_and(tensor(2, [1, 2, 3, 4])), np.arange(1, 5)),
    ],
)
def test_tensors(arguments: dict[str, Any], record: bytes, expected: Any, tmp_path: Path) -> None:
    path = write_lmdb(tmp_path / "data", records([record]))
    images, others = read(gradiva.readers.Caffe2, path, **arguments)
    assert images[0].tobytes() == b"jpeg"
    np.testing.assert_array_equal(others[0], expected)
    if "bbox" not in arguments:
        assert others[0].dtype == expected.dtype


def test_pixels(tmp_path: Path) -> None:
    record = tensors(tensor(3, bytes(range(12)), [2, 3, 2]), tensor(2, [1]))
    images, _ = read(gradiva.readers.Caffe2, write_lmdb(tmp_path / "data", records([record])))
    np.testing.assert_array_equal(images[0], np.arange(12).reshape(2, 3, 2))


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (tensors(tensor(4, b"x")), "2 tensors"),
        (image_and(tensor(1, [1.0])), "the type of a tensor"),
        (image_and(tensor(2, [1, 2])), "its label"),
        (tensors(tensor(1, [1.0]), tensor(2, [1])), "its image is of type 1"),
        (tensors(tensor(3, b"abc", [1 << 40, 1 << 40]), tensor(2, [1])), "its size"),
        (tensors(tensor(3, b"abc", [-3]), tensor(2, [1])), "its size"),
        (image_and(tensor(2, [1]))[:-1], "its message, at byte"),
        (b"\xff" * 20, "its message, at byte"),
        (message((1, 5)), "its field 1"),
    ],
)
def test_damaged_records(record: bytes, text: str, tmp_path: Path) -> None:
    good = image_and(tensor(2, [1]))
    path = write_lmdb(tmp_path / "data", records([good, record]))
    with pytest.raises(gradiva.OperatorRuntimeError, match=text) as caught:
        read(gradiva.readers.Caffe2, path)
    assert "at key 00001" in str(caught.value)
    with Quarantine(warns=False) as bad:
        assert len(read(gradiva.readers.Caffe2, path, on_error="skip")[0]) == 1
    assert bad.total == 1


def test_labels_beyond_their_number(tmp_path: Path) -> None:
    path = write_lmdb(tmp_path / "data", records([image_and(tensor(2, [5]))]))
    with pytest.raises(gradiva.OperatorRuntimeError, match="num_labels - 1 = 4"):
        read(gradiva.readers.Caffe2, path, label_type=1, num_labels=5)


def test_several_types_in_a_batch(tmp_path: Path) -> None:
    mixed = [datum(b"abc", 1), datum(b"abcdef", 1, 1, 2, 3, encoded=0)]
    with pytest.raises(gradiva.OperatorRuntimeError, match="one type and one number of axes"):
        read(gradiva.readers.Caffe, write_lmdb(tmp_path / "data", records(mixed)))


def test_trees_without_an_end(tmp_path: Path) -> None:
    """A branch that leads to itself."""
    many = records([datum(bytes(200), number) for number in range(40)])
    path = Path(write_lmdb(tmp_path / "data", many, 1024)) / "data.mdb"
    content = bytearray(path.read_bytes())
    root = int.from_bytes(content[128:136], "little")
    place = root * 1024
    node = place + int.from_bytes(content[place + 16 : place + 18], "little")
    content[node : node + 6] = root.to_bytes(6, "little")
    path.write_bytes(content)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"leads to a page.*\n.*data\.mdb"):
        gradiva.readers.Caffe(path=str(path))


def test_no_databases(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"no database" * 1000)
    with pytest.raises(gradiva.OperatorRuntimeError, match="no LMDB file"):
        gradiva.readers.Caffe(path=str(tmp_path))
    with pytest.raises(gradiva.OperatorValueError, match=r"no\.mdb"):
        gradiva.readers.Caffe(path=str(tmp_path / "no.mdb"))
    with pytest.raises(gradiva.OperatorValueError, match="samples"):
        gradiva.readers.Caffe(path=write_lmdb(tmp_path / "empty", []))


@pytest.mark.parametrize(
    "refused",
    [
        {"label_type": 5},
        {"label_type": 1, "num_labels": 0},
        {"additional_inputs": -1},
        {"image_available": False, "label_type": 4},
    ],
)
def test_refusals(refused: dict[str, Any], tmp_path: Path) -> None:
    path = write_lmdb(tmp_path / "data", records([image_and(tensor(2, [1]))]))
    with pytest.raises(gradiva.OperatorValueError):
        gradiva.readers.Caffe2(path=path, **refused)


def test_varints() -> None:
    for number in (0, 127, 128, 1 << 40, (1 << 64) - 1):
        assert [*fields(b"\x08" + varint(number))] == [(1, number)]
