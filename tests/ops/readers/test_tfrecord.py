"""`readers.tfrecord`: features of all kinds, present, missing and wrong."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorTypeError, OperatorValueError, fn, readers
from gradiva import tfrecord as tfr
from gradiva.eager.execution.quarantine import Quarantine

from .formats import example, feature, message, varint, write_tfrecord


def read(folder: Path, records: list[bytes], **arguments: Any) -> dict[str, list[Any]]:
    """The outputs by name, as lists."""
    path, index = write_tfrecord(folder, "a", records)
    reader = readers.TFRecord(path=path, index_path=index, **arguments)
    (outputs,) = reader.next_epoch(batch_size=len(records))
    return {name: [batch.at(i) for i in range(len(batch))] for name, batch in outputs.items()}


@pytest.mark.parametrize("packed", [True, False])
def test_values(tmp_path: Path, packed: bool) -> None:
    numbers = [0, 1, -1, 127, 128, 2**63 - 1, -(2**63)]
    floats = [0.0, -1.5, float("inf"), 1e-40, float("nan")]
    record = example(
        {"n": feature(numbers, packed), "f": feature(floats, packed), "s": feature(b"\0\xff")}
    )
    found = read(
        tmp_path,
        [record, record],
        features={
            "s": tfr.FixedLenFeature([], tfr.string, ""),
            "n": tfr.VarLenFeature(tfr.int64, 0),
            "f": tfr.FixedLenFeature([5, 1], tfr.float32, 0.0),
        },
    )
    assert [*found] == ["s", "n", "f"]
    for sample in range(2):
        assert found["n"][sample].tolist() == numbers
        assert found["n"][sample].dtype == np.int64
        expected = np.array(floats, np.float32).reshape(5, 1)
        np.testing.assert_array_equal(found["f"][sample], expected)
        assert found["s"][sample].tobytes() == b"\0\xff"


def test_what_is_missing(tmp_path: Path) -> None:
    """Defaults fill a fixed shape; other outputs are empty."""
    records = [
        example({"n": feature([7, 8]), "s": feature(b"x"), "v": feature([1.0])}),
        example({"n": feature([7])}),
        example({"s": message((1, b"")), "v": b"", "n": message((3, b""))}),
        b"",
        message((1, b"")),
    ]
    found = read(
        tmp_path,
        records,
        features={
            "n": tfr.FixedLenFeature([2], tfr.int64, -1),
            "two": tfr.FixedLenFeature([2], tfr.float32, [0.5, 2]),
            "scalar": tfr.FixedLenFeature([], tfr.int64, 3),
            "s": tfr.FixedLenFeature((), tfr.string, "abc"),
            "none": tfr.FixedLenFeature([], tfr.string),
            "v": tfr.VarLenFeature(tfr.float32, 0.0),
            "items": tfr.VarLenFeature([2, 3], tfr.int64, 0),
        },
    )
    assert [one.tolist() for one in found["n"]] == [[7, 8], [7, -1], *[[-1, -1]] * 3]
    assert [one.tolist() for one in found["two"]] == [[0.5, 2.0]] * 5
    assert [one.tolist() for one in found["scalar"]] == [3] * 5
    assert [one.tobytes() for one in found["s"]] == [b"x", *[b"abc"] * 4]
    assert [one.shape for one in found["none"]] == [(0,)] * 5
    assert [one.shape for one in found["v"]] == [(1,), *[(0,)] * 4]
    assert [one.shape for one in found["items"]] == [(0, 2, 3)] * 5


@pytest.mark.parametrize(
    ("feature_of", "given", "text"),
    [
        (tfr.FixedLenFeature([2], tfr.int64), feature([1]), "no default.*expected 2 values, got 1"),
        (tfr.FixedLenFeature([], tfr.int64), b"", "no default"),
        (tfr.FixedLenFeature([2], tfr.int64, 0), feature([1, 2, 3]), "too small.*3 elements"),
        (tfr.FixedLenFeature([], tfr.float32, 0), feature([1.0] * 4), "too small.*4 elements"),
        (tfr.FixedLenFeature([], tfr.int64, 0), feature([1.0]), "expected int64, got float32"),
        (tfr.FixedLenFeature([], tfr.float32, 0), feature([1]), "expected float32, got int64"),
        (tfr.FixedLenFeature([], tfr.string, ""), feature([1]), "expected bytes, got int64"),
        (tfr.VarLenFeature(tfr.int64, 0), feature(b"x"), "expected int64, got bytes"),
        (tfr.VarLenFeature([2], tfr.int64, 0), feature([1, 2, 3]), "multiple of 2, got 3"),
    ],
)
def test_what_does_not_fit(
    tmp_path: Path, feature_of: tfr.Feature, given: bytes, text: str
) -> None:
    good = {"x": message((1, b"")), "n": feature([5])}
    other = {"n": tfr.FixedLenFeature([1], tfr.int64, 0)}
    if feature_of.default is None:
        good["x"] = feature([4] * (feature_of.shape or (1,))[0])
    records = [example(good), example({**good, "x": given}), example(good)]
    features = {"x": feature_of, **other}
    with pytest.raises(OperatorRuntimeError, match=rf"feature 'x'(?s:.)*{text}(?s:.)*sample 1"):
        read(tmp_path, records, features=features)
    with Quarantine(warns=False) as bad:
        assert len(read(tmp_path, records, features=features, on_error="skip")["n"]) == 2
        kept = read(tmp_path, records, features=features, on_error="replace")
    assert bad.total == 2
    assert [one.tolist() for one in kept["n"]] == [[5], [5], [5]]
    fixed = feature_of.dtype != tfr.string and feature_of.shape is not None
    assert kept["x"][1].shape == (feature_of.shape if fixed else (0, *feature_of.partial))


@pytest.mark.parametrize(
    "features",
    [
        {"x": 10},
        {1: tfr.FixedLenFeature([], tfr.int64, 0)},
        {},
        {"x": tfr.FixedLenFeature([], 7, 0)},
        {"x": tfr.FixedLenFeature([-1], tfr.int64, 0)},
        {"x": tfr.FixedLenFeature([2], tfr.int64, [1, 2, 3])},
        {"x": tfr.FixedLenFeature([2], tfr.int64, "a")},
        {"x": tfr.FixedLenFeature([2], tfr.string, "")},
        {"x": tfr.VarLenFeature(tfr.string, "")},
        {"x": tfr.VarLenFeature([0], tfr.int64, 0)},
    ],
)
def test_bad_features(tmp_path: Path, features: Any) -> None:
    path, _ = write_tfrecord(tmp_path, "a", [b""])
    with pytest.raises((OperatorTypeError, OperatorValueError), match="features"):
        readers.TFRecord(path=path, features=features)
    with gradiva.Pipeline(1, 1, None), pytest.raises((TypeError, ValueError), match="features"):
        fn.readers.tfrecord(path=path, features=features)


def test_messages_as_others_write_them(tmp_path: Path) -> None:
    """The last of equal keys; the last list of a feature, whatever was before; unknown fields."""
    ints, floats = feature([1, 2, 3, 4, 5, 6, 7, 8]), feature([9.5])
    many = message((9, b"?"), (1, message((1, message((1, b"x"), (2, feature([1])))))), (4, 77))
    again = message((1, message((1, message((1, b"x"), (2, ints + floats + feature([5, 6])))))))
    fixed = varint(12 << 3 | 5) + b"1234" + varint(13 << 3 | 1) + b"12345678"
    swapped = message((1, message((1, message((2, feature([4])), (1, b"x"))))))
    found = read(
        tmp_path, [many + again + fixed, swapped], features={"x": tfr.VarLenFeature(tfr.int64, 0)}
    )
    assert [one.tolist() for one in found["x"]] == [[5, 6], [4]]


@pytest.mark.parametrize(
    "record",
    [
        b"\x0a",
        b"\x0a\x7f",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xff" * 12,
        b"\x00\x00",
        b"\x0b",
        message((1, b"\x0a\x05ab")),
        example({"x": b"\x1a\x05\x08"}),
        example({"x": message((3, b"\x0a\x02\xff\xff"))}),
        example({"x": message((2, b"\x0a\x03abc"))}),
        example({"x": message((3, b"\x0d1234"))}),
        example({"x": message((1, b"\x08\x01"))}),
    ],
)
def test_broken_messages(tmp_path: Path, record: bytes) -> None:
    path, index = write_tfrecord(tmp_path, "a", [example({"x": feature([1])}), record])
    features = {"x": tfr.VarLenFeature(tfr.int64, 0)}
    reader = readers.TFRecord(path=path, index_path=index, features=features)
    with pytest.raises(OperatorRuntimeError, match=r"damaged record(?s:.)*sample 1.*at index \d+"):
        next(reader.next_epoch(batch_size=2))


def test_checksums(tmp_path: Path) -> None:
    records = [example({"x": feature([i] * i)}) for i in range(1, 40)]
    path, _ = write_tfrecord(tmp_path, "a", records)
    features = {"x": tfr.VarLenFeature(tfr.int64, 0)}
    whole = Path(path).read_bytes()

    def count(**more: Any) -> int:
        reader = readers.TFRecord(path=path, features=features, **more)
        return sum(len(outputs["x"]) for outputs in reader.next_epoch(batch_size=8))

    assert count(check_crc=True) == 39
    place = len(whole) - 5  # the last byte of the last message
    for where in (place, len(whole) - 1, 9):
        data = bytearray(whole)
        data[where] ^= 1
        Path(path).write_bytes(data)
        assert count() == 39
        with pytest.raises(OperatorRuntimeError, match="checksum"):
            count(check_crc=True)


def test_lengths_that_lie(tmp_path: Path) -> None:
    path, index = write_tfrecord(tmp_path, "a", [example({"x": feature([i])}) for i in range(3)])
    features = {"x": tfr.VarLenFeature(tfr.int64, 0)}
    data = bytearray(Path(path).read_bytes())
    second = int(Path(index).read_text().splitlines()[1].split()[0])
    for length in (2**64 - 1, 2**63, 2**64 - 16, 2**40, 0):
        data[second : second + 8] = struct.pack("<Q", length)
        Path(path).write_bytes(data)
        reader = readers.TFRecord(path=path, index_path=index, features=features)
        with pytest.raises(OperatorRuntimeError, match=rf"its length(?s:.)*sample 1.*{second}"):
            next(reader.next_epoch(batch_size=3))
        with pytest.raises(OperatorRuntimeError, match=r"record \d.*(?s:.)*a.tfrecord"):
            readers.TFRecord(path=path, features=features)


def test_several_files_and_indices(tmp_path: Path) -> None:
    features = {"x": tfr.FixedLenFeature([], tfr.int64)}
    pairs = [
        write_tfrecord(tmp_path, name, [example({"x": feature([number])}) for number in numbers])
        for name, numbers in (("a", [0, 1]), ("b", []), ("c", [2]))
    ]
    paths, indices = [[pair[i] for pair in pairs] for i in range(2)]
    for given in (indices, None):
        reader = readers.TFRecord(path=paths, index_path=given, features=features)
        (outputs,) = reader.next_epoch(batch_size=3)
        assert outputs["x"].as_array().tolist() == [0, 1, 2]
        assert outputs["x"].source_info()[2] == f"{paths[2]} at index 0"
    with pytest.raises(OperatorValueError, match="as many files"):
        readers.TFRecord(path=paths, index_path=indices[0], features=features)
    with pytest.raises(OperatorValueError, match="files with samples"):
        readers.TFRecord(path=paths[1], features=features)
    with pytest.raises(OperatorValueError, match="use_o_direct"):
        readers.TFRecord(path=paths, features=features, use_o_direct=True)
    with pytest.raises(OperatorValueError, match="skip_cached_images"):
        readers.TFRecord(path=paths, features=features, skip_cached_images=True)


def test_outputs_by_name_everywhere(tmp_path: Path) -> None:
    """In loops over batches and samples, captured or not, and in pipelines of all spellings."""
    records = [example({"x": feature([i]), "y": feature([i / 2])}) for i in range(6)]
    path, _ = write_tfrecord(tmp_path, "a", records)
    features = {
        "y": tfr.FixedLenFeature([], tfr.float32, 0.0),
        "x": tfr.FixedLenFeature([], tfr.int64, 0),
    }
    reader = readers.TFRecord(path=path, features=features)
    for capture in (False, True):
        found = []
        for outputs in reader.next_epoch(batch_size=2, capture=capture):
            assert [*outputs] == ["y", "x"]
            found += (outputs["x"] + 1).evaluate().as_array().tolist()
        assert found == [1, 2, 3, 4, 5, 6]
    assert [int(sample["x"].item()) for sample in reader.next_epoch()] == [0, 1, 2, 3, 4, 5]

    @gradiva.pipeline_def(batch_size=6, num_threads=1, device_id=None)
    def pipe() -> Any:
        outputs = fn.readers.tfrecord(path=path, features=features)
        made = gradiva.ops.readers.TFRecord(path=path, features=features)()
        return outputs["x"], outputs["y"], made["x"]

    with pipe() as running:
        x, y, again = (output.as_array().tolist() for output in running.run())
    assert x == again == [0, 1, 2, 3, 4, 5]
    assert y == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def outputs(pipe: Any) -> list[Any]:
    """Of its first batch."""
    try:
        return [one.tolist() for batch in pipe.run() for one in batch.arrays()]
    finally:
        pipe.close()


def test_stored_pipelines(tmp_path: Path) -> None:
    """Features and their defaults come back."""
    records = [example({"n": feature([number]), "s": feature(b"abc")}) for number in range(3)]
    path, index = write_tfrecord(tmp_path, "a", [*records, b""])
    features: dict[str, Any] = {
        "s": tfr.FixedLenFeature([], tfr.string, "x"),
        "n": tfr.FixedLenFeature([1, 2], tfr.int64, [5, 6]),
        "f": tfr.FixedLenFeature([1], tfr.float32, 0.1),
        "v": tfr.VarLenFeature(tfr.int64, 0),
    }

    def made(**more: Any) -> Any:
        with gradiva.Pipeline(4, 1, None) as pipe:
            found = fn.readers.tfrecord(path=path, index_path=index, features={**features, **more})
            pipe.set_outputs(*found.values())
        return pipe

    stored = made().serialize()
    expected = outputs(made())
    assert expected[4:8] == [[[0, 6]], [[1, 6]], [[2, 6]], [[5, 6]]]
    again = gradiva.Pipeline.deserialize(stored)
    assert outputs(gradiva.Pipeline.deserialize(again.serialize())) == expected
    assert outputs(again) == expected
    for old, new in ((b"has_shape", b"had_shape"), (b"feature_names", b"feature_notes")):
        with pytest.raises(OperatorValueError, match="readers___TFRecord"):
            gradiva.Pipeline.deserialize(stored.replace(old, new))


def test_stored_pipelines_with_what_only_gradiva_stores(tmp_path: Path) -> None:
    """The shape of items, which DALI drops, and features without a default, of
    which its process ends: its name for the reader stands for neither."""
    records = [
        example({"w": feature([0.5] * 2 * number), "n": feature([number])}) for number in (1, 2, 3)
    ]
    path, index = write_tfrecord(tmp_path, "a", records)
    features: dict[str, Any] = {
        "w": tfr.VarLenFeature([2], tfr.float32, 0.0),
        "n": tfr.FixedLenFeature([1], tfr.int64),
    }

    def made(names: str) -> Any:
        with gradiva.Pipeline(3, 1, None) as pipe:
            chosen = {name: features[name] for name in names}
            found = fn.readers.tfrecord(path=path, index_path=index, features=chosen)
            pipe.set_outputs(*found.values())
        return pipe

    for names in ("w", "n", "wn"):
        stored = made(names).serialize()
        assert b"readers___TFRecord" not in stored
        again = gradiva.Pipeline.deserialize(gradiva.Pipeline.deserialize(stored).serialize())
        assert outputs(again) == outputs(made(names))
    text = b'["w", null, 2, 0.0, [2]]'
    stored = made("w").serialize()
    assert text in stored
    for damaged in (
        *(b"[", b"5", b"{}", b'"wwwww"', b'["w", null, 2]', b"[0, null, 2, 0.0, [2]]"),
        *(b'["w", 5, 2, 0.0, []]', b'["w", null, 2, 0.0, 2]', b'["w", null, 2, 0.0, "a"]'),
        *(b'["w", null, [], 0., [2]]', b'["w", null, 7, 0.0, [2]]', b'["w", [1.5], 2, 0., []]'),
    ):
        with pytest.raises(OperatorValueError, match=r"`features`"):
            gradiva.Pipeline.deserialize(stored.replace(text, damaged.ljust(len(text))))
