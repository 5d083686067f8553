"""Iterators over pipelines: exact counts for all sizes, shards and policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator, DALIRaggedIterator

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL

pytestmark = pytest.mark.core

EPOCHS = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"x")
    return str(path)


def pipeline(
    file: str,
    size: int,
    batch_size: int,
    shards: int = 1,
    shard: int = 0,
    checkpoint: Any = None,
    enable_checkpointing: bool = False,
    **options: Any,
) -> Pipeline:
    @pipeline_def(batch_size=batch_size, num_threads=1, prefetch_queue_depth=2)
    def labels() -> Any:
        return fn.readers.file(
            files=[file] * size,
            labels=list(range(size)),
            num_shards=shards,
            shard_id=shard,
            name="reader",
            **options,
        )[1]

    return labels(checkpoint=checkpoint, enable_checkpointing=enable_checkpointing)


Epoch = list[list[int]]
"""The labels of each batch."""


def epochs(pipe: Pipeline, policy: LastBatchPolicy) -> list[Epoch]:
    """Some epochs, each of which has as many batches as the iterator says."""
    found = []
    iterator = DALIGenericIterator(
        pipe,
        ["label"],
        reader_name="reader",
        last_batch_policy=policy,
        auto_reset=True,
        prepare_first_batch=False,  # an epoch without a batch is an error there
    )
    for _ in range(EPOCHS):
        length, size = len(iterator), iterator.size
        found.append([labels(row[0]) for row in iterator])
        assert len(found[-1]) == length
        if policy is PARTIAL:
            assert sum(map(len, found[-1])) == size
    pipe.close()
    return found


def labels(row: dict[str, Any]) -> list[int]:
    found: list[int] = row["label"].ravel().tolist()
    return found


@pytest.mark.parametrize(
    ("policy", "pad", "last", "then"),
    [
        (PARTIAL, True, [7], [1, 2]),
        (PARTIAL, False, [7], [1, 2]),
        (FILL, True, [7, 7], [1, 2]),
        (FILL, False, [7, 1], [2, 3]),
        (DROP, True, [5, 6], [1, 2]),
        (DROP, False, [5, 6], [1, 2]),
    ],
)
def test_the_last_batch_of_seven_samples(
    file: str, policy: LastBatchPolicy, pad: bool, last: list[int], then: list[int]
) -> None:
    found = epochs(pipeline(file, 7, 2, pad_last_batch=pad), policy)
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
    assert len(iterator) == 0  # not known: as scripts of DALI expect it
    assert iterator.size == -1
    for _ in range(2):
        assert [row[0]["data"].tolist() for row in iterator] == [[0, 1], [2, 3], [4, 5]]
        with pytest.raises(StopIteration):
            next(iterator)
        iterator.reset()


def test_several_pipelines_are_several_shards(file: str) -> None:
    pipes = [pipeline(file, 11, 4, 2, shard, stick_to_shard=True) for shard in range(2)]
    iterator = DALIGenericIterator(
        pipes, ["label"], reader_name="reader", last_batch_policy=PARTIAL
    )
    labels = [part["label"][:, 0].tolist() for row in iterator for part in row]
    assert sorted(label for part in labels for label in part) == list(range(11))
    assert (iterator.size, len(iterator)) == (11, 2)


@pytest.mark.parametrize("stick", [False, True])
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize(("size", "shards", "batch_size"), [(7, 3, 4), (5, 2, 2), (3, 2, 1)])
def test_partial_batches_of_several_shards(
    file: str, size: int, shards: int, batch_size: int, pad: bool, stick: bool
) -> None:
    """One iterator over all shards, which differ in size: no sample comes twice in an epoch."""
    pipes = [
        pipeline(file, size, batch_size, shards, n, pad_last_batch=pad, stick_to_shard=stick)
        for n in range(shards)
    ]
    iterator = DALIGenericIterator(
        pipes, ["label"], reader_name="reader", last_batch_policy=PARTIAL
    )
    for _ in range(EPOCHS):
        rows = [[labels(part) for part in row] for row in iterator]
        assert len(rows) == len(iterator) == -(-size // shards // batch_size)
        assert sorted(label for row in rows for part in row for label in part) == list(range(size))
        empty = [part for row in rows for part in row if not part]
        assert len(empty) == (shards - size % shards if batch_size == 1 else 0)


def test_padding_is_cut_off(file: str) -> None:
    """Labels that are padding for one shard and not for another."""
    found = [
        epochs(pipeline(file, 7, 4, 3, shard, pad_last_batch=True, stick_to_shard=True), PARTIAL)[0]
        for shard in range(3)
    ]
    assert found == [[[0, 1]], [[2, 3]], [[4, 5, 6]]]
    short = epochs(pipeline(file, 5, 2, 2, pad_last_batch=True), PARTIAL)
    assert short == [[[0], [1]], [[2, 3], [4]], [[0], [1]]]


def test_an_epoch_that_was_read_ahead_is_shorter(file: str) -> None:
    """With FILL, as with other libraries: what an epoch has of the next one is not read again."""
    assert epochs(pipeline(file, 5, 2), FILL) == [
        [[0, 1], [2, 3], [4, 0]],
        [[1, 2], [3, 4]],
        [[0, 1], [2, 3], [4, 0]],
    ]
    # The second epoch was in the first batch: it is left out.
    assert epochs(pipeline(file, 2, 4), FILL) == [[[0, 1, 0, 1]]] * EPOCHS


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_readers_side_by_side_stay_in_step(file: str, policy: LastBatchPolicy, pad: bool) -> None:
    """Such as one of images and one of masks; a third one, of other data, goes its own way."""

    @pipeline_def(batch_size=2, num_threads=1)
    def pairs() -> Any:
        given: dict[str, Any] = {"files": [file] * 7, "labels": list(range(7))}
        given |= {"num_shards": 2, "shard_id": 1, "pad_last_batch": pad}
        more = fn.readers.file(files=[file] * 50, labels=list(range(50)))[1]
        return fn.readers.file(name="a", **given)[1], fn.readers.file(name="b", **given)[1], more

    iterator = DALIGenericIterator(
        pairs(), ["a", "b", "more"], reader_name="a", last_batch_policy=policy, auto_reset=True
    )
    others: list[int] = []
    for _ in range(EPOCHS):
        for (row,) in iterator:
            assert row["a"].tolist() == row["b"].tolist()
            others += row["more"].ravel().tolist()
    assert others == sorted(set(others))


@pytest.mark.parametrize("pad", [False, True])
def test_batches_of_an_external_source_are_cut_too(file: str, pad: bool) -> None:
    """Its callable makes full batches, which it cannot know to be too large."""

    @pipeline_def(batch_size=4, num_threads=1)
    def pipe() -> Any:
        made = fn.external_source(lambda number: np.arange(4) + 10 * number)
        fed = fn.external_source(name="fed")
        reader = fn.readers.file(
            files=[file] * 5, labels=list(range(5)), pad_last_batch=pad, name="reader"
        )
        return reader[1], made, fed

    pipe_ = pipe(prefetch_queue_depth=1)
    for _ in range(4):
        pipe_.feed_input("fed", np.arange(4) * 10)
    iterator = DALIGenericIterator(
        pipe_,
        ["label", "made", "fed"],
        reader_name="reader",
        last_batch_policy=PARTIAL,
        auto_reset=True,
    )
    found = [[row[name].ravel().tolist() for name in row] for _ in range(2) for (row,) in iterator]
    assert found == [
        [[0, 1, 2, 3], [0, 1, 2, 3], [0, 10, 20, 30]],
        [[4], [10], [0]],
        [[0, 1, 2, 3], [20, 21, 22, 23], [0, 10, 20, 30]],
        [[4], [30], [0]],
    ]


def test_a_lost_batch_leaves_the_shards_in_step(file: str, tmp_path: Path) -> None:
    """What the other pipelines have for that turn is lost with it, and no later batch."""
    bad = str(tmp_path / "missing.bin")

    @pipeline_def(batch_size=2, num_threads=1)
    def shard(number: int) -> Any:
        files = [file, bad, *[file] * 8]
        return fn.readers.file(
            files=files,
            labels=list(range(10)),
            num_shards=2,
            shard_id=number,
            stick_to_shard=True,
            name="reader",
        )[1]

    iterator = DALIGenericIterator(
        [shard(0), shard(1)],
        ["label"],
        reader_name="reader",
        last_batch_policy=PARTIAL,
        prepare_first_batch=False,
    )
    for _ in range(2):
        iter(iterator)
        with pytest.raises(RuntimeError, match=r"missing\.bin"):
            next(iterator)
        assert [labels(part) for part in next(iterator)] == [[2, 3], [7, 8]]
        assert [labels(part) for part in next(iterator)] == [[4], [9]]
        with pytest.raises(StopIteration):
            next(iterator)


def test_a_new_loop_begins_the_next_epoch(file: str) -> None:
    """Also without auto_reset and `reset`; a loop that was left goes on where it was."""
    iterator = DALIGenericIterator(
        pipeline(file, 4, 2, 2), ["label"], reader_name="reader", last_batch_policy=DROP
    )
    assert [labels(row[0]) for row in iterator] == [[0, 1]]
    with pytest.raises(StopIteration):
        next(iterator)
    assert [labels(row[0]) for row in iterator] == [[2, 3]]
    iterator = DALIGenericIterator(pipeline(file, 6, 2), ["label"], reader_name="reader")
    for row in iterator:
        assert labels(row[0]) == [0, 1]
        break
    assert [labels(row[0]) for row in iterator] == [[2, 3], [4, 5]]


def test_a_reset_in_the_middle_of_an_epoch_changes_nothing_and_says_so(file: str) -> None:
    iterator = DALIGenericIterator(pipeline(file, 6, 2), ["label"], reader_name="reader")
    iterator.reset()
    seen = [next(iterator)[0]["label"][0, 0]]
    with pytest.warns(
        UserWarning, match=r"Iterator\.reset has no effect .* after 1 batches"
    ) as said:
        iterator.reset()
    assert said[0].filename == __file__
    seen += [row[0]["label"][0, 0] for row in iterator]
    assert seen == [0, 2, 4]


def test_ragged_batches() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(lambda: [np.zeros(2), np.ones(3)])

    with pytest.raises(ValueError, match=r"different shapes.*use DALIRagged"):
        next(DALIGenericIterator(pipe(), ["data"]))
    row = next(DALIRaggedIterator(pipe(), ["data"]))
    assert [sample.tolist() for sample in row[0]["data"]] == [[0, 0], [1, 1, 1]]


def test_iterators_and_runs_do_not_mix(file: str) -> None:
    pipe = pipeline(file, 4, 2)
    pipe.run()
    with pytest.raises(RuntimeError, match="the ways to run a pipeline do not mix"):
        DALIGenericIterator(pipe, ["label"])
    with pytest.raises(RuntimeError, match="make a new pipeline for the iterator"):
        DALIGenericIterator(pipe, ["label"], reader_name="reader", last_batch_policy=DROP)


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize(
    ("size", "batch_size"),
    [(5, 2), *(pytest.param(*sizes, marks=pytest.mark.full) for sizes in [(3, 1), (7, 3), (2, 4)])],
)
def test_checkpoints_in_every_place(
    file: str, policy: LastBatchPolicy, pad: bool, size: int, batch_size: int
) -> None:
    """An iterator over a restored pipeline hands out what the first one has not."""

    def iterator(**options: Any) -> tuple[Pipeline, DALIGenericIterator]:
        pipe = pipeline(
            file, size, batch_size, 2, 1, pad_last_batch=pad, enable_checkpointing=True, **options
        )
        return pipe, DALIGenericIterator(
            pipe,
            ["label"],
            reader_name="reader",
            last_batch_policy=policy,
            auto_reset=True,
            prepare_first_batch=False,
        )

    def rest(made: DALIGenericIterator) -> list[Epoch]:
        return [[labels(row[0]) for row in made] for _ in range(EPOCHS)]

    first, expected = iterator()
    whole = rest(expected)
    first.close()
    for taken in range(len(whole[0]) + len(whole[1])):
        pipe, begun = iterator()
        for row in range(taken):
            if row == len(whole[0]):
                assert next(begun, None) is None
            next(begun)
        again, resumed = iterator(checkpoint=pipe.checkpoint())
        epoch = int(taken >= len(whole[0]))
        left = whole[epoch][taken - epoch * len(whole[0]) :]
        assert rest(resumed)[: EPOCHS - epoch] == [left, *whole[epoch + 1 :]]
        pipe.close()
        again.close()


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
