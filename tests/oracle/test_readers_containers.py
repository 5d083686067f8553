"""readers.tfrecord, mxnet, webdataset and sequence against DALI: their own arguments, and
what all readers refuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import tfrecord as tfr
from gradiva.ops.readers.records.tar_archive import index_lines
from tests.ops.readers.formats import (
    FORMATS,
    example,
    feature,
    image_record,
    payload,
    read_epoch,
    sequence,
    tfrecord_of_theirs,
    values,
    write_recordio,
    write_tar,
    write_tfrecord,
)

from .reference import DTYPES, REFUSALS, fn, run, theirs
from .test_readers_formats import of_theirs


def agree(
    reader: Callable[..., Any],
    function: Callable[..., Any],
    data: dict[str, Any],
    data_of_theirs: dict[str, Any],
    size: int,
) -> bool:
    """The first batch of both is the same, or both refuse. Says which."""
    try:
        expected = run(lambda: values(function(**data_of_theirs)), size)
    except REFUSALS:
        with pytest.raises(gradiva.GradivaError):
            list(reader(**data).next_epoch(batch_size=size))
        return False
    found = values(next(iter(reader(**data).next_epoch(batch_size=size))))
    assert len(found) == len(expected)
    for ours, other in zip(found, expected, strict=True):
        for sample in range(size):
            array = ours.array(sample)
            assert (array.dtype, array.shape) == (other[sample].dtype, other[sample].shape)
            np.testing.assert_array_equal(array, other[sample])
    return True


FEATURES: dict[str, tuple[dict[str, Any], bool]] = {
    "scalar": ({"count": tfr.FixedLenFeature([], tfr.int64, 0)}, True),
    "one": ({"count": tfr.FixedLenFeature([1], tfr.int64, 0)}, True),
    "matrix": ({"four": tfr.FixedLenFeature([2, 2], tfr.float32, 0.0)}, True),
    "too many": ({"four": tfr.FixedLenFeature([3], tfr.float32, 0.0)}, False),
    "all": ({"some": tfr.VarLenFeature(tfr.int64, 0)}, True),
    "items": ({"four": tfr.VarLenFeature([2], tfr.float32, 0.0)}, True),
    "rows": ({"four": tfr.VarLenFeature([1, 4], tfr.float32, 0.0)}, True),
    "no whole items": ({"four": tfr.VarLenFeature([3], tfr.float32, 0.0)}, False),
    "string": ({"text": tfr.FixedLenFeature([], tfr.string, "")}, True),
    "first of several": ({"texts": tfr.FixedLenFeature([], tfr.string, "")}, True),
    "two strings": ({"texts": tfr.FixedLenFeature([2], tfr.string, "")}, False),
    "strings": ({"texts": tfr.VarLenFeature(tfr.string, "")}, False),
    "order": (
        {
            "some": tfr.VarLenFeature(tfr.int64, 0),
            "text": tfr.FixedLenFeature([], tfr.string, ""),
            "four": tfr.VarLenFeature(tfr.float32, 0.0),
        },
        True,
    ),
}


@pytest.mark.parametrize("kind", FEATURES)
def test_features(kind: str, tmp_path: Path) -> None:
    """Packed and not, with negative and large numbers, from two files."""
    paths = [
        write_tfrecord(
            tmp_path,
            f"data{file}",
            [
                example(
                    {
                        "count": feature([-5 - number], packed),
                        "four": feature([0.5, -1e30, 3.25 * number, float("inf")], packed),
                        "some": feature([1 << 62, -(1 << 63), 7][: 1 + number % 3], packed),
                        "text": feature(payload(number)),
                        "texts": feature([payload(number), b"second"]),
                    }
                )
                for number in range(4)
            ],
        )
        for file, packed in enumerate((True, False))
    ]
    features, good = FEATURES[kind]
    both, theirs_only, ours_only = tfrecord_of_theirs(
        {
            "path": [path for path, _ in paths],
            "index_path": [index for _, index in paths],
            "features": features,
        }
    )
    data = {**both, **ours_only}, {**both, **theirs_only}
    assert agree(gradiva.readers.TFRecord, fn.readers.tfrecord, *data, 8) == good


@pytest.mark.parametrize("count", [1, 2, 5])
def test_labels_of_recordio(count: int, tmp_path: Path) -> None:
    records = [
        image_record(payload(number), [number / 2 + place for place in range(count)], number)
        for number in range(6)
    ]
    path, index = write_recordio(tmp_path, "data", records)
    data = {"path": path, "index_path": index}
    assert agree(gradiva.readers.MXNet, fn.readers.mxnet, data, data, 6)


def test_an_index_over_several_recordio_files(tmp_path: Path) -> None:
    """Offsets that go on from file to file, in any order of lines."""
    parts = [
        write_recordio(tmp_path, f"data{file}", [image_record(payload(n), [n]) for n in range(3)])
        for file in range(2)
    ]
    lines: list[str] = []
    start = 0
    for path, index in parts:
        lines += [
            f"{len(lines) + number}\t{start + int(line.split()[1])}"
            for number, line in enumerate(Path(index).read_text().splitlines())
        ]
        start += Path(path).stat().st_size
    whole = tmp_path / "whole.idx"
    whole.write_text("\n".join(lines[::-1]) + "\n")
    data = {"path": [path for path, _ in parts], "index_path": [str(whole)]}
    assert agree(gradiva.readers.MXNet, fn.readers.mxnet, data, data, 6)


MEMBERS = [
    ("a/0.jpg", b"zero"),
    ("a/0.cls", b"\1\0\0\0"),
    ("a/0.seg.png", b"mask"),
    ("a/1.png", b"one"),
    ("a/1.cls", b"\2\0\0\0\3\0\0\0"),
    ("b/1.cls", b"\4\0\0\0"),
    ("b/1.JPG", b"upper"),
    ("b/2.jpeg", b"two"),
    ("b/2.jpg", b"both"),
    ("b/2.cls", b""),
    ("b/3.txt", b"nothing"),
]
ARCHIVES: dict[str, tuple[dict[str, Any], int]] = {
    "two": ({"ext": ["jpg", "cls"]}, 5),
    "alternatives": ({"ext": ["jpg;png;jpeg", "cls"]}, 5),
    "of several parts": ({"ext": ["seg.png", "cls"]}, 5),
    "any case": ({"ext": ["jpg", "CLS"], "case_sensitive_extensions": False}, 5),
    "numbers": ({"ext": ["cls", "jpg"], "dtypes": ["int32", "uint8"]}, 5),
    "odd sizes": ({"ext": ["jpg"], "dtypes": ["int64"]}, 0),
    "empty": ({"ext": ["jpg", "cls"], "missing_component_behavior": "EMPTY"}, 5),
    "left out": ({"ext": ["jpg", "cls"], "missing_component_behavior": "skip"}, 2),
    "left out, of one": ({"ext": ["cls"], "missing_component_behavior": "skip"}, 4),
    "refused": ({"ext": ["jpg", "cls"], "missing_component_behavior": "error"}, 0),
    "twice": ({"ext": ["cls", "cls"]}, 5),
    "unknown": ({"ext": ["jpg"], "missing_component_behavior": "maybe"}, 0),
    "too few types": ({"ext": ["jpg", "cls"], "dtypes": ["uint8"]}, 0),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("kind", ARCHIVES)
def test_archives(kind: str, indexed: bool, tmp_path: Path) -> None:
    arguments, size = ARCHIVES[kind]
    path = tmp_path / "data.tar"
    write_tar(path, MEMBERS)
    data: dict[str, Any] = {"paths": str(path), **arguments}
    if indexed:
        index = tmp_path / "data.idx"
        index.write_text("\n".join(index_lines(str(path))) + "\n")
        data["index_paths"] = str(index)
    other = dict(data)
    if "dtypes" in data:
        other["dtypes"] = [theirs(DTYPES[name]) for name in data["dtypes"]]
    reader = gradiva.readers.Webdataset, fn.readers.webdataset
    assert agree(*reader, data, other, size or 1) == bool(size)


@pytest.mark.parametrize(("step", "stride", "length"), [(1, 1, 3), (2, 1, 2), (1, 2, 2), (3, 2, 2)])
def test_sequences(step: int, stride: int, length: int, tmp_path: Path) -> None:
    data = {**sequence(tmp_path, 7), "sequence_length": length, "step": step, "stride": stride}
    assert agree(gradiva.readers.Sequence, fn.readers.sequence, data, data, 2)


COMBINATIONS: list[dict[str, Any]] = [
    {"random_shuffle": True, "shuffle_after_epoch": True},
    {"stick_to_shard": True, "shuffle_after_epoch": True},
    {"stick_to_shard": True, "random_shuffle": True},
    {"num_shards": 4, "shard_id": 4},
    {"num_shards": 4},
    {"skip_cached_images": True},
    {"use_o_direct": True},
    {"use_o_direct": True, "dont_use_mmap": True},
    {"dont_use_mmap": True, "read_ahead": True, "prefetch_queue_depth": 3},
    {"initial_fill": 2, "tensor_init_bytes": 16, "lazy_init": True},
]


def taken(read: Callable[[], Any]) -> bool:
    try:
        read()
    except (*REFUSALS, gradiva.GradivaError):
        return False
    return True


def values_of(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return values(function(**arguments))


def epoch_of(reader: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return read_epoch(reader(**arguments), 3)


@pytest.mark.parametrize("name", sorted(name for name, kind in FORMATS.items() if kind.runs))
def test_what_goes_together(name: str, tmp_path: Path) -> None:
    """Each combination is taken by both or refused by both."""
    kind = FORMATS[name]
    both, theirs_only, ours_only = kind.theirs(kind.write(tmp_path, 3))
    for combination in COMBINATIONS:
        if name.startswith("caffe") and "shuffle_after_epoch" in combination:
            continue  # of DALI these two do not take it
        given = partial(values_of, of_theirs(name), {**both, **theirs_only, **combination})
        assert taken(partial(run, given, 3)) == taken(
            partial(epoch_of, kind.reader, {**both, **ours_only, **combination})
        )
