"""Iterators over pipelines: exact counts for all sizes, shards and policies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator, DALIRaggedIterator

EPOCHS = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"x")
    return str(path)


def pipeline(
    file: str, size: int, batch_size: int, shards: int = 1, shard: int = 0, **options: Any
) -> Pipeline:
    @pipeline_def(batch_size=batch_size, num_threads=1, prefetch_queue_depth=2)
    def labels() -> Any:
        return fn.readers.file(
            files=[file] * size, labels=list(range(size)), num_shards=shards, shard_id=shard,
            name="reader", **options,
        )[1]  # fmt: skip

    return labels()


def epochs(pipe: Pipeline, policy: LastBatchPolicy) -> tuple[int, list[list[list[int]]]]:
    """`len` and the labels of each batch of some epochs."""
    found = []
    iterator = DALIGenericIterator(
        pipe, ["label"], reader_name="reader", last_batch_policy=policy, auto_reset=True
    )
    length = len(iterator)
    for _ in range(EPOCHS):
        found.append([row[0]["label"][:, 0].tolist() for row in iterator])
        assert len(iterator) == length
    pipe.close()
    return length, found


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 257),
    batch_size=st.integers(1, 33),
    shards=st.integers(1, 8),
    policy=st.sampled_from(LastBatchPolicy),
    stick=st.booleans(),
    pad=st.booleans(),
    shuffle=st.booleans(),
)
def test_every_epoch_has_the_promised_samples(
    file: str, size: int, batch_size: int, shards: int, policy: LastBatchPolicy, stick: bool,
    pad: bool, shuffle: bool,
) -> None:  # fmt: skip
    shards = min(shards, size)
    everything = list(range(size))
    seen: list[list[int]] = [[] for _ in range(EPOCHS)]
    longest = math.ceil(size / shards)
    for shard in range(shards):
        pipe = pipeline(
            file, size, batch_size, shards, shard,
            stick_to_shard=stick, pad_last_batch=pad, random_shuffle=shuffle,
        )  # fmt: skip
        length, found = epochs(pipe, policy)
        for epoch, batches in enumerate(found):
            samples = [label for batch in batches for label in batch]
            seen[epoch] += samples
            assert all(1 <= len(batch) <= batch_size for batch in batches)
            if policy is LastBatchPolicy.PARTIAL and batch_size == 1:
                assert length - 1 <= len(batches) <= length
            else:
                assert len(batches) == length
            if policy is not LastBatchPolicy.PARTIAL:
                assert all(len(batch) == batch_size for batch in batches)
            if policy is LastBatchPolicy.DROP and not pad:
                assert len(set(samples)) == len(samples)
            if pad and policy is LastBatchPolicy.PARTIAL:
                assert len(samples) == longest
    if policy is LastBatchPolicy.PARTIAL:
        for labels in seen:
            assert sorted(labels if not pad else set(labels)) == everything
    if policy is LastBatchPolicy.FILL and shards == 1 and not pad:
        stream = [label for labels in seen for label in labels]
        for start in range(0, len(stream) - size + 1, size):
            assert sorted(stream[start : start + size]) == everything


@pytest.mark.parametrize(
    ("policy", "pad", "last", "then"),
    [
        (LastBatchPolicy.PARTIAL, True, [7], [1, 2]),
        (LastBatchPolicy.PARTIAL, False, [7], [1, 2]),
        (LastBatchPolicy.FILL, True, [7, 7], [1, 2]),
        (LastBatchPolicy.FILL, False, [7, 1], [2, 3]),
        (LastBatchPolicy.DROP, True, [5, 6], [1, 2]),
        (LastBatchPolicy.DROP, False, [5, 6], [1, 2]),
    ],
)
def test_the_last_batch_of_seven_samples(
    file: str, policy: LastBatchPolicy, pad: bool, last: list[int], then: list[int]
) -> None:
    _, found = epochs(pipeline(file, 7, 2, pad_last_batch=pad), policy)
    assert [label + 1 for label in found[0][-1]] == last
    assert [label + 1 for label in found[1][0]] == then


def rows(end: int) -> Pipeline:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(
            lambda info: np.int32(info.idx_in_epoch) if info.idx_in_epoch < end else stop(),
            batch=False,
        )

    return pipe()


def stop() -> Any:
    raise StopIteration


def test_an_external_source_ends_the_epoch() -> None:
    iterator = DALIGenericIterator([rows(6)], ["data"])
    with pytest.raises(TypeError, match="the length is known with"):
        len(iterator)
    assert iterator.size == -1
    for _ in range(2):
        assert [row[0]["data"].tolist() for row in iterator] == [[0, 1], [2, 3], [4, 5]]
        with pytest.raises(StopIteration):
            next(iterator)
        iterator.reset()


def test_a_given_size() -> None:
    for policy, lengths in [
        (LastBatchPolicy.FILL, [2, 2, 2]),
        (LastBatchPolicy.PARTIAL, [2, 2, 1]),
        (LastBatchPolicy.DROP, [2, 2]),
    ]:
        iterator = DALIGenericIterator(rows(100), ["data"], size=5, last_batch_policy=policy)
        assert (len(iterator), iterator.size) == (len(lengths), 5)
        for _ in range(2):
            assert [len(row[0]["data"]) for row in iterator] == lengths
            iterator.reset()


def test_several_pipelines_are_several_shards(file: str) -> None:
    pipes = [pipeline(file, 11, 4, 2, shard, stick_to_shard=True) for shard in range(2)]
    iterator = DALIGenericIterator(
        pipes, ["label"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    labels = [part["label"][:, 0].tolist() for row in iterator for part in row]
    assert sorted(label for part in labels for label in part) == list(range(11))
    assert (iterator.size, len(iterator)) == (11, 2)
    ones = [pipeline(file, 11, 1, 2, shard) for shard in range(2)]
    with pytest.raises(ValueError, match="larger batches, another policy, or readers with pad"):
        DALIGenericIterator(
            ones, ["l"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
        )


def test_a_reset_in_the_middle_of_an_epoch_changes_nothing(file: str) -> None:
    iterator = DALIGenericIterator(pipeline(file, 6, 2), ["label"], reader_name="reader")
    seen = [next(iterator)[0]["label"][0, 0]]
    iterator.reset()
    seen += [row[0]["label"][0, 0] for row in iterator]
    assert seen == [0, 2, 4]


def test_ragged_batches() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(lambda: [np.zeros(2), np.ones(3)])

    with pytest.raises(ValueError, match="different shapes"):
        next(DALIGenericIterator(pipe(), ["data"]))
    row = next(DALIRaggedIterator(pipe(), ["data"]))
    assert [sample.tolist() for sample in row[0]["data"]] == [[0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"reader_name": "nope"}, ValueError, "the name of a reader .'reader'."),
        ({"reader_name": "reader", "size": 3}, ValueError, "give one"),
        ({"size": 0}, ValueError, "`size`"),
        ({"output_map": ["a", "b"]}, ValueError, "a name for each of 1 outputs"),
        ({"output_map": ["a", "a"]}, ValueError, "names that differ"),
        ({"auto_reset": "maybe"}, ValueError, "`auto_reset`"),
        ({"last_batch_policy": "drop"}, TypeError, "a LastBatchPolicy"),
        ({"pipelines": []}, TypeError, "a Pipeline, or several"),
    ],
)
def test_refusals(file: str, options: dict[str, Any], kind: type[Exception], words: str) -> None:
    given = {"pipelines": pipeline(file, 4, 2), "output_map": ["label"], **options}
    with pytest.raises(kind, match=words):
        DALIGenericIterator(**given)


def test_iterators_and_runs_do_not_mix(file: str) -> None:
    pipe = pipeline(file, 4, 2)
    pipe.run()
    with pytest.raises(RuntimeError, match="the ways to run a pipeline do not mix"):
        DALIGenericIterator(pipe, ["label"])
    with pytest.raises(RuntimeError, match="make a new pipeline for the iterator"):
        DALIGenericIterator(
            pipe, ["label"], reader_name="reader", last_batch_policy=LastBatchPolicy.DROP
        )


def test_no_data_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the pipeline has no data at all"):
        DALIGenericIterator(rows(0), ["data"])


def test_a_checkpoint_before_the_loop(file: str) -> None:
    """The batch that an iterator has made to see errors early is not handed out yet."""
    first = pipeline(file, 6, 2)
    made = pipeline_with_checkpoints(file)
    DALIGenericIterator(made, ["label"], reader_name="reader")
    again = pipeline_with_checkpoints(file, checkpoint=made.checkpoint())
    assert again.run()[0].as_array().tolist() == first.run()[0].as_array().tolist()


def pipeline_with_checkpoints(file: str, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
    def labels() -> Any:
        return fn.readers.file(files=[file] * 6, labels=list(range(6)), name="reader")[1]

    return labels(**options)
