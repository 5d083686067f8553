"""Iterators that hand out torch tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
    feed_ndarray,
)

torch = pytest.importorskip("torch")


def photos(photographs: Path) -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=1, seed=1)
    def pipe() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs), name="reader")
        return fn.resize(fn.decoders.image(files), size=(8, 8)), labels

    return pipe()


def test_a_training_loop(photographs: Path) -> None:
    iterator = DALIClassificationIterator(
        photos(photographs), reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    kept = []
    for _ in range(2):
        seen = 0
        for (row,) in iterator:
            assert isinstance(row["data"], torch.Tensor)
            assert row["data"].shape[1:] == (8, 8, 3)
            assert row["data"].dtype == torch.uint8
            assert len(row["data"]) == len(row["label"]) <= 4
            seen += len(row["data"])
            kept.append((row["data"], row["data"].clone()))
        assert seen == iterator.size
        iterator.reset()
    # What is held is not overwritten by later batches.
    assert all(torch.equal(held, copy) for held, copy in kept)


@pipeline_def(batch_size=2, num_threads=1)
def ragged() -> Any:
    return fn.external_source(lambda: [np.zeros(2, np.float32), np.ones(3, np.float32)]), np.eye(2)


def test_ragged_batches() -> None:
    names = ["a", "b"]
    tags = [DALIRaggedIterator.SPARSE_LIST_TAG, DALIRaggedIterator.DENSE_TAG]
    (row,) = next(DALIRaggedIterator(ragged(), names, output_types=tags))
    assert [sample.tolist() for sample in row["a"]] == [[0, 0], [1, 1, 1]]
    assert row["b"].shape == (2, 2, 2)
    with pytest.raises(ValueError, match="different shapes"):
        next(DALIRaggedIterator(ragged(), names))
    tags[0] = DALIRaggedIterator.SPARSE_COO_TAG
    (row,) = next(DALIRaggedIterator(ragged(), names, output_types=tags))
    assert row["a"].to_dense().tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(ValueError, match="one of 'dense', 'list', 'coo' for each output"):
        DALIRaggedIterator(ragged(), names, output_types=["dense"])
    with pytest.raises(
        ValueError, match=r"DALIGenericIterator: output 'a': .* different shapes"
    ) as caught:
        next(DALIGenericIterator(ragged(), names))
    assert "resize or pad them in the pipeline, or use DALIRaggedIterator" in str(caught.value)
    assert "got (2,) (sample 0) and (3,) (sample 1)" in str(caught.value)
    with pytest.raises(TypeError, match=r"Ragged.*`output_map`: expected a list with a name"):
        DALIRaggedIterator(ragged(), "ab")


def test_feed_ndarray() -> None:
    (batch, eye) = ragged().run()
    target = torch.zeros((2, 2, 2), dtype=torch.float64)
    assert feed_ndarray(eye, target) is target
    assert target[0].tolist() == [[1, 0], [0, 1]]
    sample = torch.zeros(3)
    assert feed_ndarray(batch[1], sample).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="`arr`"):
        feed_ndarray(batch[0], sample)
    with pytest.raises(TypeError, match=r"expected torch\.float32"):
        feed_ndarray(batch[1], torch.zeros(3, dtype=torch.int32))
