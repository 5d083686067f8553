"""Iterators with a given size; and what iterators refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator

from .test_iterators import Epoch, file, labels, pipeline, rows

__all__ = ["file"]

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL

pytestmark = pytest.mark.core


def test_a_given_size() -> None:
    for policy, padded, first, second in [
        (FILL, False, [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9]]),
        (FILL, True, [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]),
        (PARTIAL, False, [[0, 1], [2, 3], [4]], [[6, 7], [8, 9], [10]]),
        (DROP, False, [[0, 1], [2, 3]], [[6, 7], [8, 9]]),
    ]:
        iterator = DALIGenericIterator(
            rows(100), ["data"], size=5, last_batch_policy=policy, last_batch_padded=padded
        )
        for expected in (first, second):
            assert (len(iterator), iterator.size) == (len(expected), 5)
            assert [row[0]["data"].tolist() for row in iterator] == expected
            iterator.reset()


def test_a_size_is_that_of_all_pipelines_together() -> None:
    """The last ones have no part in the end of an epoch that ends before them."""
    iterator = DALIGenericIterator(
        [rows(100) for _ in range(3)], ["data"], size=9, last_batch_policy=PARTIAL, auto_reset=True
    )
    for _ in range(2):
        assert len(iterator) == 2
        assert [[len(part["data"]) for part in row] for row in iterator] == [[2, 2, 2], [2, 1]]


@pytest.mark.parametrize("taken", range(6))
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_checkpoints_within_a_given_size(file: str, policy: LastBatchPolicy, taken: int) -> None:
    def iterator(checkpoint: Any = None) -> DALIGenericIterator:
        pipe = pipeline(file, 11, 2, checkpoint=checkpoint, enable_checkpointing=True)
        return DALIGenericIterator(pipe, ["label"], 5, last_batch_policy=policy, auto_reset=True)

    def rest(made: DALIGenericIterator) -> list[Epoch]:
        return [[labels(row[0]) for row in made] for _ in range(3)]

    begun, whole = iterator(), rest(iterator())
    # Where an epoch ends, the next one begins by itself.
    lengths = np.cumsum([0, *map(len, whole)]).tolist()
    epoch = max(number for number, first in enumerate(lengths) if first <= taken)
    for _ in range(taken + epoch):
        next(begun, None)
    resumed = rest(iterator(begun.checkpoints()[0]))
    expected = [whole[epoch][taken - lengths[epoch] :], *whole[epoch + 1 :]]
    assert resumed[: len(expected)] == expected


def test_a_smaller_batch_than_a_size_is_counted_in() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(lambda number: np.zeros(1 + (number + 1) % 2))

    with pytest.raises(AssertionError, match="batches of 2 samples, got one of 1"):
        list(DALIGenericIterator(pipe(), ["data"], size=6))


def test_no_data_at_all(file: str) -> None:
    with pytest.raises(RuntimeError, match="the pipeline has no data at all"):
        DALIGenericIterator(rows(0), ["data"])
    for options in ({"size": 1}, {"reader_name": "reader"}):
        given: Any = {"output_map": ["label"], "last_batch_policy": DROP, **options}
        with pytest.raises(RuntimeError, match="no epoch has a batch"):
            DALIGenericIterator(pipeline(file, 1, 2), **given)
        iterator = DALIGenericIterator(pipeline(file, 1, 2), prepare_first_batch=False, **given)
        assert (len(iterator), list(iterator)) == (0, [])


def test_several_pipelines_need_an_end(file: str) -> None:
    with pytest.raises(AssertionError, match="where an epoch ends"):
        DALIGenericIterator([rows(4), rows(8)], ["data"])
    pipes = [pipeline(file, 4, 2, enable_checkpointing=saved) for saved in (True, False)]
    with pytest.raises(ValueError, match="enable_checkpointing"):
        DALIGenericIterator(pipes, ["data"], size=4)


def test_iterators_that_were_closed(file: str) -> None:
    pipe = pipeline(file, 6, 2)
    iterator = DALIGenericIterator(pipe, ["label"], reader_name="reader")
    next(iterator)
    pipe.close()
    with pytest.raises(RuntimeError, match="this pipeline was closed"):
        next(iterator)
    with pytest.raises(RuntimeError, match="this pipeline was closed"):
        DALIGenericIterator(pipe, ["label"], reader_name="reader")


def test_iterators_stay_in_their_process(file: str) -> None:
    iterator = DALIGenericIterator(pipeline(file, 6, 2), ["label"], reader_name="reader")
    with pytest.raises(TypeError, match="Make it where it is used"):
        pickle.dumps(iterator)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"reader_name": "nope"}, ValueError, "the name of a reader .'reader'."),
        ({"reader_name": "reader", "size": 3}, ValueError, "give one"),
        ({"size": 0}, ValueError, "`size`"),
        ({"size": -5}, AssertionError, "`size`"),
        ({"reader_name": "reader", "last_batch_padded": True}, AssertionError, "pad_last_batch"),
        ({"output_map": ["a", "b"]}, ValueError, "a name for each of 1 outputs"),
        ({"output_map": ["a", "a"]}, ValueError, "names that differ"),
        ({"output_map": "a"}, TypeError, "`output_map`: expected a list .*, got 'a'"),
        ({"output_map": {"a"}}, TypeError, "`output_map`: expected a list with a name"),
        ({"output_map": 5}, AssertionError, "`output_map`: expected a list .*, got 5"),
        ({"output_map": [["a"]]}, TypeError, "`output_map`: .* expected a name for each output"),
        ({"auto_reset": "maybe"}, ValueError, "`auto_reset`"),
        ({"last_batch_policy": "drop"}, TypeError, "a LastBatchPolicy"),
        ({"pipelines": []}, TypeError, "a Pipeline, or several"),
    ],
)
def test_refusals(file: str, options: dict[str, Any], kind: type[Exception], words: str) -> None:
    given = {"pipelines": pipeline(file, 4, 2), "output_map": ["label"], **options}
    with pytest.raises(kind, match=words):
        DALIGenericIterator(**given)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"size": 5}, "files: 4, 5"),
        ({"shards": 1, "shard": 0}, "num_shards: 1, 2"),
        ({"stick_to_shard": True}, "stick_to_shard: False, True"),
        ({"pad_last_batch": True}, "pad_last_batch: False, True"),
    ],
)
def test_pipelines_whose_epochs_differ(file: str, other: dict[str, Any], words: str) -> None:
    pipes = [
        pipeline(file, **{"size": 4, "batch_size": 2, "shards": 2, "shard": shard, **given})
        for shard, given in enumerate(({}, other))
    ]
    with pytest.raises(ValueError, match=words):
        DALIGenericIterator(pipes, ["label"], reader_name="reader")
