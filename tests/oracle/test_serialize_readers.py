"""Stored pipelines with readers: DALI reads ours and gradiva reads DALI's, and
both deliver the same samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradiva
from tests.ops.readers.formats import FORMATS, values

from .reference import dali
from .test_readers_formats import BATCH, of_theirs

ELSEWHERE = ("tfrecord", "video")
"""See `test_features_of_records` and test_serialize_videos.py."""

READERS = sorted(name for name, kind in FORMATS.items() if kind.runs and name not in ELSEWHERE)

OURS_ALONE = {f"readers.{name}" for name in ("csv", "hdf5", "jsonl", "npz", "parquet")}
"""Readers that DALI does not have: files with them are for gradiva alone."""


def made(library: Any, function: Any, arguments: dict[str, Any]) -> Any:
    pipeline = library.Pipeline(
        batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1
    )
    with pipeline:
        pipeline.set_outputs(*values(function(name="R", **arguments)))
    return pipeline


def batches(pipeline: Any) -> list[list[bytes]]:
    pipeline.build()
    return [
        [output.at(i).tobytes() for output in pipeline.run() for i in range(BATCH)]
        for _ in range(5)
    ]


@pytest.mark.parametrize("name", READERS)
def test_both_ways(name: str, tmp_path: Path) -> None:
    kind = FORMATS[name]
    common, of_them, of_us = kind.theirs(kind.write(tmp_path, 7))
    ours = made(gradiva, kind.function, {**common, **of_us})
    theirs = made(dali, of_theirs(name), {**common, **of_them})
    stored, stored_there = ours.serialize(), theirs.serialize()
    expected = batches(ours)
    assert batches(theirs) == expected
    assert batches(dali.Pipeline.deserialize(stored)) == expected
    assert batches(gradiva.Pipeline.deserialize(stored_there)) == expected
    assert batches(gradiva.Pipeline.deserialize(stored)) == expected


def test_features_of_records(tmp_path: Path) -> None:
    """Both ways. (DALI does not use defaults, and its files have no shapes of items.)"""
    kind = FORMATS["tfrecord"]
    data = kind.write(tmp_path, 7)
    data["features"] |= {
        "box": gradiva.tfrecord.VarLenFeature(gradiva.tfrecord.float32, 0.25),
        "label": gradiva.tfrecord.FixedLenFeature([1, 1], gradiva.tfrecord.int64, -1),
    }
    common, of_them, of_us = kind.theirs(data)
    of_them["features"]["box"] = dali.tfrecord.VarLenFeature(dali.tfrecord.float32, 0.25)
    ours = made(gradiva, kind.function, {**common, **of_us})
    theirs = made(dali, of_theirs("tfrecord"), {**common, **of_them})
    stored, stored_there = ours.serialize(), theirs.serialize()
    expected = batches(ours)
    assert batches(theirs) == expected
    assert batches(dali.Pipeline.deserialize(stored)) == expected
    assert batches(gradiva.Pipeline.deserialize(stored_there)) == expected
    assert batches(gradiva.Pipeline.deserialize(stored)) == expected


def test_features_that_the_reference_cannot_store(tmp_path: Path) -> None:
    """It refuses such files, by the name of their reader."""
    data = FORMATS["tfrecord"].write(tmp_path, 7)
    box = gradiva.tfrecord.VarLenFeature([2], gradiva.tfrecord.float32, 0.0)
    data["features"] |= {"box": box}
    stored = made(gradiva, FORMATS["tfrecord"].function, data).serialize()
    with pytest.raises(RuntimeError, match="GradivaTFRecord"):
        dali.Pipeline.deserialize(stored).build()
