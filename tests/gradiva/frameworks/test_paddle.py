"""Iterators that hand out Paddle tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.plugin.paddle import (
    DALIClassificationIterator,
    DALIGenericIterator,
    LastBatchPolicy,
    feed_ndarray,
    lod_tensor_clip,
    recursive_length,
    to_paddle_type,
)

from .pipelines import leased, numbered, shapes_that_differ, spans
from .refusals import REFUSALS

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("paddle")]


def values(tensor: Any) -> list[int]:
    return [int(one) for one in np.asarray(tensor).ravel()]


def test_an_epoch_without_copies(paddle: Any) -> None:
    addresses = []

    class Noted(DALIGenericIterator):
        def _convert(self, name: Any, batch: Any) -> Any:
            if name == "data":
                addresses.append(batch.data_ptr())
            return super()._convert(name, batch)

    iterator = Noted(numbered(6, 4), ["data", "label", "@index"], reader_name="reader")
    turns = list(iterator)
    assert [values(turn["label"]) for (turn,) in turns] == [[0, 1, 2, 3], [4, 5, 0, 1]]
    for (turn,), address in zip(turns, addresses, strict=True):
        assert isinstance(turn["data"], paddle.Tensor)
        assert turn["data"].data_ptr() == address
        assert turn["data"].numpy()[:, 0, 0].tolist() == values(turn["label"])
        assert values(turn["@index"]) == values(turn["label"])


def test_memory_is_leased(paddle: Any) -> None:
    iterator = DALIClassificationIterator(numbered(64, 4), reader_name="reader")
    held = next(iterator)[0]["data"]
    kept = held.numpy().copy()
    for turn in iterator:
        del turn
    assert np.array_equal(held.numpy(), kept)
    iterator._pipes[0].close()
    gc.collect()
    before = leased()
    del held
    gc.collect()
    assert before - leased() >= spans()


def test_the_last_batch(paddle: Any) -> None:
    iterator = DALIClassificationIterator(
        numbered(5, 3), reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    (last,) = list(iterator)[-1]
    assert last["data"].shape == [2, 64, 32]
    assert values(last["label"]) == [3, 4]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16"])
def test_dtypes(paddle: Any, dtype: str) -> None:
    @pipeline_def(batch_size=3, num_threads=1)
    def pipe() -> Any:
        return fn.cast(fn.external_source(lambda: np.eye(3, dtype=np.uint8)), dtype=dtype)

    (turn,) = next(DALIGenericIterator(pipe(), ["x"]))
    assert turn["x"].dtype == getattr(paddle, dtype)
    assert np.array_equal(turn["x"].astype("float32").numpy(), np.eye(3))


def test_samples_of_several_shapes(paddle: Any) -> None:
    (turn,) = next(DALIGenericIterator(shapes_that_differ(), [("x", 1)]))
    assert turn["x"].lod() == [[0, 2, 5]]
    assert np.array(turn["x"]).tolist() == [0, 0, 1, 1, 1]

    @pipeline_def(batch_size=2, num_threads=1)
    def planes() -> Any:
        return fn.external_source(lambda: [np.zeros((2, 2, 4)), np.ones((1, 3, 4))])

    (turn,) = next(DALIGenericIterator(planes(), [("x", 2)]))
    assert turn["x"].lod() == [[0, 2, 3], [0, 2, 4, 7]]
    assert np.array(turn["x"]).shape == (7, 4)
    with pytest.raises(ValueError, match=r"output 'x': .*different shapes"):
        next(DALIGenericIterator(planes(), ["x"]))
    with pytest.raises(ValueError, match="differ in more than their first 1 axes"):
        next(DALIGenericIterator(planes(), [("x", 1)]))
    with pytest.raises(ValueError, match="expected at most 3 levels, got 4"):
        next(DALIGenericIterator(planes(), [("x", 4)]))


def test_feed_ndarray(paddle: Any) -> None:
    data, label = numbered(4, 2).run()
    into = paddle.zeros([2, 64, 32])
    address = into.data_ptr()
    assert feed_ndarray(data, address) == address
    assert into.numpy()[:, 3, 3].tolist() == [0, 1]
    with pytest.raises(TypeError, match="expected an address"):
        feed_ndarray(label, "x")
    with pytest.raises(TypeError, match="`dali_tensor`: expected a tensor or a batch"):
        feed_ndarray(np.zeros(3), address)  # type: ignore[arg-type]


@REFUSALS
def test_refusals(paddle: Any, refuse: Callable[[Any], None]) -> None:
    refuse(DALIGenericIterator)


def test_mistakes(paddle: Any) -> None:
    with pytest.raises(ValueError, match="names that differ"):
        DALIGenericIterator(numbered(4, 2), ["data", ("data", 1)])
    with pytest.raises(ValueError, match=r"`output_map`: expected names, or \(name, levels\)"):
        DALIGenericIterator(numbered(4, 2), ["data", ("label", "deep")])
    wrong: Any
    for wrong in (("label", 1, 1), {}, (["label"], 1)):
        with pytest.raises(ValueError, match=r"`output_map`: expected names, or \(name, levels\)"):
            DALIGenericIterator(numbered(4, 2), ["data", wrong])
    with pytest.raises(TypeError, match="`output_map`: expected a list with a name"):
        DALIGenericIterator(numbered(4, 2), "ab")

    @pipeline_def(batch_size=2, num_threads=1)
    def shorts() -> Any:
        return fn.external_source(lambda: np.zeros((2, 3), np.uint16))

    with pytest.raises(TypeError, match="output 'x': Paddle has no such elements"):
        next(DALIGenericIterator(shorts(), ["x"]))


def test_lengths_and_types(paddle: Any) -> None:
    batch = gradiva.batch([np.zeros((2, 3), np.int16), np.zeros((1, 3), np.int16)])
    assert recursive_length(batch, 0) == []
    assert recursive_length(batch, 1) == [[2]]
    assert recursive_length(batch, 2) == [[2], [2, 1]]
    assert recursive_length(batch, 3) == [[2], [2, 1], [3, 3, 3]]
    assert recursive_length(np.zeros((2, 3)), 2) == [[2], [3, 3]]
    with pytest.raises(ValueError, match="at most 3"):
        recursive_length(batch, 4)
    kinds = paddle.framework.core.VarDesc.VarType
    assert to_paddle_type(batch) == kinds.INT16
    with pytest.raises(TypeError, match="no such elements"):
        to_paddle_type(gradiva.cast(batch, dtype=gradiva.uint16))


def test_the_first_parts_of_a_tensor_with_levels(paddle: Any) -> None:
    pipe = shapes_that_differ()
    with pipe:
        (turn,) = next(DALIGenericIterator(pipe, [("data", 1)]))
    whole = turn["data"]
    (lengths,) = whole.recursive_sequence_lengths()
    first = lod_tensor_clip(whole, 1)
    assert first.recursive_sequence_lengths() == [lengths[:1]]
    assert values(first) == values(np.array(whole)[: lengths[0]])
