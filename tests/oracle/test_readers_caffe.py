"""readers.caffe and readers.caffe2 against DALI: what records can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import readers
from tests.ops.readers.formats import datum, tensor, tensors, values, write_lmdb

from .reference import fn, run

JPEG = tensor(4, b"jpeg")
PIXELS = tensor(3, bytes(range(12)), [2, 3, 2])
RECORDS: dict[str, tuple[str, dict[str, Any], list[bytes]]] = {
    "pixels": ("caffe", {}, [datum(bytes(range(24)), 3, 2, 3, 4, encoded=0)] * 2),
    "encoded": ("caffe", {}, [datum(b"abc", -3, encoded=1), datum(b"abcd", 7)]),
    "images alone": ("caffe", {"label_available": False}, [datum(b"abc", 3)]),
    "labels alone": ("caffe", {"image_available": False}, [datum(b"abc", 3)]),
    "single": ("caffe2", {}, [tensors(JPEG, tensor(2, [n])) for n in (3, -4)]),
    "bytes": ("caffe2", {}, [tensors(PIXELS, tensor(2, [1]))]),
    "dense": ("caffe2", {"label_type": 2}, [tensors(JPEG, tensor(2, [1, 7]))]),
    "dense floats": ("caffe2", {"label_type": 2}, [tensors(JPEG, tensor(1, [0.5, 7]))]),
    "more": (
        "caffe2",
        {"additional_inputs": 2, "bbox": True},
        [
            tensors(
                JPEG,
                tensor(2, [1]),
                tensor(1, [0.5]),
                tensor(2, [5, 6, 7]),
                tensor(2, [1, 2, 3, 4]),
            )
        ],
    ),
    "no labels": ("caffe2", {"label_type": 4}, [tensors(JPEG)]),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records(kind: str, tmp_path: Path) -> None:
    name, arguments, records = RECORDS[kind]
    path = write_lmdb(tmp_path / "data", [(b"%d" % n, one) for n, one in enumerate(records)])
    function = getattr(fn.readers, name)
    expected = run(lambda: values(function(path=path, **arguments)), len(records))
    kinds: dict[str, Any] = {"caffe": readers.Caffe, "caffe2": readers.Caffe2}
    reader = kinds[name](path=path, **arguments)
    found = values(next(reader.next_epoch(batch_size=len(records))))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for sample in range(len(records)):
            array = ours.array(sample)
            assert (array.dtype, array.shape) == (theirs[sample].dtype, theirs[sample].shape)
            np.testing.assert_array_equal(array, theirs[sample])
