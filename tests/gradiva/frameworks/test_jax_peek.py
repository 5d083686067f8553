"""JAX iterators that show the next batch, as those of CLU do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.jax.clu import DALIGenericPeekableIterator, peekable_data_iterator

from .pipelines import labels

pytestmark = pytest.mark.full


def values(turn: Any) -> list[int]:
    return [int(one) for one in np.asarray(turn["x"]).ravel()]


def numbers(count: int, pad: bool = False) -> Any:
    return labels(count, pad=pad)


def test_peeking_takes_nothing(jax: Any) -> None:
    made = peekable_data_iterator(numbers, ["x"], reader_name="reader")
    iterator = made(5, batch_size=2)
    assert values(iterator.peek()) == values(iterator.peek()) == [0, 1]
    assert values(iterator.peek_async().result(60)) == [0, 1]
    assert [values(turn) for turn in iterator] == [[0, 1], [2, 3], [4, 0]]
    iterator.reset()
    # Nor does it end an epoch.
    again = iter(iterator)
    seen = [values(next(again)), values(again.peek())]
    again.reset()
    assert [*seen, *(values(turn) for turn in again)] == [[1, 2], [3, 4], [3, 4]]
    with pytest.raises(StopIteration):
        again.peek()
    with pytest.raises(StopIteration):
        again.peek_async().result(60)


def test_element_spec(jax: Any) -> None:
    iterator = peekable_data_iterator(numbers, ["x"], reader_name="reader")(5, batch_size=2)
    spec = iterator.element_spec
    assert list(spec) == ["x"]
    assert (spec["x"].shape, spec["x"].dtype) == ((2, 1), np.int32)
    assert values(next(iterator)) == [0, 1]


def test_shapes_must_stay(jax: Any) -> None:
    made = iter([np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)])

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(made)

    iterator = DALIGenericPeekableIterator(pipe(), ["x"])
    next(iterator)
    with pytest.raises(ValueError, match=r"output 'x': all batches must have one shape"):
        next(iterator)


def test_checkpoints_after_the_peeked_batch_only(jax: Any) -> None:
    made = peekable_data_iterator(numbers, ["x"], reader_name="reader")
    iterator = made(6, batch_size=2, enable_checkpointing=True)
    next(iterator)
    iterator.peek()
    with pytest.raises(RuntimeError, match=r"checkpoints: .*a batch ahead"):
        iterator.checkpoints()
    next(iterator)
    again = made(6, batch_size=2, checkpoints=iterator.checkpoints(), enable_checkpointing=True)
    assert values(next(again)) == [4, 5]


def test_what_is_padding(jax: Any) -> None:
    made = peekable_data_iterator(numbers, ["x"], reader_name="reader")
    for pad, third in ((True, [True, False]), (False, [True, False])):
        iterator = made(5, pad, batch_size=2)
        found = []
        for turn in iterator:
            assert len(values(turn)) == 2
            found.append(iterator.is_nonpadding.tolist())
        assert found == [[True, True], [True, True], third]
    # The next epoch of a reader that does not pad began in the last batch.
    assert [iterator.is_nonpadding.tolist() for _ in iterator] == [[True, True], [True, True]]
    drop = peekable_data_iterator(
        numbers, ["x"], reader_name="reader", last_batch_policy=LastBatchPolicy.DROP
    )(5, batch_size=2)
    assert [drop.is_nonpadding.all() for _ in drop] == [True, True]
    with pytest.raises(AttributeError, match="reader_name"):
        _ = peekable_data_iterator(numbers, ["x"])(5, batch_size=2).is_nonpadding
    with pytest.raises(ValueError, match="peekable_data_iterator: argument `devices`"):
        peekable_data_iterator(numbers, ["x"], devices=[])


def test_padding_of_shards(jax: Any) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))

    @peekable_data_iterator(output_map=["x"], reader_name="reader", sharding=sharding)
    def sharded(shard_id: int, num_shards: int) -> Any:
        return labels(5, shard_id, num_shards, pad=True)

    iterator = sharded(batch_size=8)
    turn = next(iterator)
    inside = iterator.is_nonpadding
    assert inside.sharding.is_equivalent_to(sharding, 1)
    assert np.asarray(turn["x"]).ravel()[np.asarray(inside)].tolist() == [0, 1, 2, 3, 4]
