"""Pipelines, iterators and loops whose readers share each step of an epoch: any number of processes
goes on from the same state, with the same bits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator

SIZE = 55
WHOLE = 12
WORLDS = (1, 2, 3, 4)
FILL, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.PARTIAL


def files(**arguments: Any) -> dict[str, Any]:
    labels = list(range(SIZE))
    given = {"files": [__file__] * SIZE, "labels": labels, "sharding": "interleaved"}
    return {"random_shuffle": True, "name": "reader", **given, **arguments}


@pipeline_def(num_threads=2, seed=7, enable_checkpointing=True)
def training(**arguments: Any) -> Any:
    labels = fn.readers.file(**files(**arguments))[1]
    noise = fn.random.uniform(range=(0.0, 1.0), shape=(2, 2, 1))
    return labels, noise, fn.flip(noise, horizontal=fn.random.coin_flip())


def pipes(world: int, whole: int = WHOLE, **arguments: Any) -> list[Pipeline]:
    given = {key: arguments.pop(key) for key in ("checkpoint",) if key in arguments}
    return [
        training(batch_size=whole // world, num_shards=world, shard_id=rank, **given, **arguments)
        for rank in range(world)
    ]


def digest(parts: Iterable[Iterable[Any]]) -> str:
    """Of a step of all trainers."""
    rows = [
        np.concatenate([np.asarray(one) for one in column]) for column in zip(*parts, strict=True)
    ]
    return hashlib.sha256(b"".join(row.tobytes() for row in rows)).hexdigest()


def step(made: list[Pipeline]) -> str:
    return digest([batch.as_array() for batch in pipe.run()] for pipe in made)


def iterators(world: int, policy: LastBatchPolicy = PARTIAL, **more: Any) -> list[PipelineIterator]:
    names = ["label", "noise", "flipped", "@position"]
    options: dict[str, Any] = {
        "reader_name": "reader",
        "last_batch_policy": policy,
        "auto_reset": True,
    }
    options["prepare_first_batch"] = more.pop("prepare_first_batch", True)
    return [PipelineIterator(pipe, names, **options) for pipe in pipes(world, **more)]


def turn(loops: list[PipelineIterator]) -> str:
    return digest(next(loop)[0].values() for loop in loops)


def epoch(loops: list[PipelineIterator]) -> list[str]:
    return [digest(row[0].values() for row in rows) for rows in zip(*loops, strict=True)]


def test_bare_pipelines() -> None:
    """The same steps for all worlds, and from a checkpoint of any rank."""
    (alone,) = pipes(1)
    expected = [step([alone]) for _ in range(12)]
    assert len(set(expected)) == 12
    for number, world in enumerate(WORLDS[1:]):
        made = pipes(world)
        found = [step(made) for _ in range(3 + number)]
        saved = made[-1].checkpoint()
        made = pipes(WORLDS[-number - 1], checkpoint=saved)
        found += [step(made) for _ in range(9 - number)]
        assert found == expected


def test_another_global_batch() -> None:
    """Other steps, of the samples that come next."""
    made = pipes(2, 10)
    seen = [label for _ in range(3) for pipe in made for label in pipe.run()[0].as_array().ravel()]
    made = pipes(3, 9, checkpoint=made[0].checkpoint())
    seen += [label for _ in range(3) for pipe in made for label in pipe.run()[0].as_array().ravel()]
    assert sorted(seen) == list(range(SIZE))


@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_iterators(policy: LastBatchPolicy) -> None:
    expected = epoch(iterators(1, policy))
    for world in WORLDS[1:]:
        loops = iterators(world, policy)
        assert [len(loop) for loop in loops] == [len(expected)] * world
        assert epoch(loops) == expected


@pytest.mark.parametrize("first", [True, False])
def test_states_of_iterators(first: bool) -> None:
    """Written by one rank, read by any number, in the middle of an epoch and at its end."""
    loops = iterators(1)
    expected = [epoch(loops) for _ in range(3)]
    assert loops[0].state_dict()["epoch"] == 3
    whole = len(expected[0])
    for world, other, taken in ((2, 3, 2), (3, 1, 4), (4, 2, whole), (1, 4, 0)):
        loops = iterators(world)
        found = [turn(loops) for _ in range(taken)]
        states = [loop.state_dict() for loop in loops]
        assert states == states[:1] * world
        assert set(states[0]) == {"epoch", "samples", "seed", "fingerprint"}
        assert len(json.dumps(states[0])) < 200
        loops = iterators(other, prepare_first_batch=first)
        for loop in loops:
            loop.load_state_dict(json.loads(json.dumps(states[-1])))
            assert len(loop) == whole
            assert loop.state_dict() == (states[0] if taken < whole else loops[0].state_dict())
        rest = epoch(loops)
        assert found + rest == (expected[0] if taken < whole else expected[0] + expected[1])
        assert epoch(loops) == expected[1 if taken < whole else 2]


def test_a_state_in_the_middle_of_a_loop() -> None:
    """It can also be loaded by an iterator that has read."""
    loops = iterators(2)
    turns = [turn(loops) for _ in range(3)]
    state = loops[1].state_dict()
    more = [turn(loops) for _ in range(2)]
    for loop in loops:
        loop.load_state_dict(state)
    assert [turn(loops) for _ in range(2)] == more
    assert turns != more


def test_checkpoints_of_iterators() -> None:
    expected = epoch(iterators(1))
    loops = iterators(3)
    found = [turn(loops) for _ in range(2)]
    saved = loops[2].checkpoints()[0]
    loops = iterators(2, checkpoint=saved)
    assert [len(loop) for loop in loops] == [len(expected)] * 2
    assert found + epoch(loops) == expected


def test_several_pipelines_of_one_iterator() -> None:
    """As with several devices."""
    expected = epoch(iterators(1))
    names = ["label", "noise", "flipped", "@position"]
    loop = PipelineIterator(pipes(3), names, reader_name="reader", last_batch_policy=PARTIAL)
    found = [digest(row.values() for row in next(loop)) for _ in range(2)]
    state = loop.state_dict()
    loop = PipelineIterator(pipes(4), names, reader_name="reader", last_batch_policy=PARTIAL)
    loop.load_state_dict(state)
    assert found + [digest(row.values() for row in rows) for rows in loop] == expected


@pytest.mark.filterwarnings("ignore:.*bad.bin:UserWarning")
def test_errors_and_left_out_samples(tmp_path: Any) -> None:
    """Samples that cannot be read count as read."""
    good, bad = tmp_path / "good.bin", tmp_path / "bad.bin"
    good.write_bytes(b"x")
    paths = [str(bad if number % 5 == 3 else good) for number in range(SIZE)]
    seen: list[int] = []
    state: dict[str, Any] | None = None
    for world, taken in ((2, 2), (3, 1), (1, 99)):
        loops = [
            PipelineIterator(
                pipe, ["label", "noise", "flipped"], reader_name="reader", last_batch_policy=PARTIAL
            )
            for pipe in pipes(world, files=paths, on_error="skip")
        ]
        for loop in loops:
            if state is not None:
                loop.load_state_dict(state)
        for _, rows in zip(range(taken), zip(*loops, strict=True), strict=False):
            seen += [number for row in rows for number in row[0]["label"].ravel().tolist()]
        state = loops[0].state_dict()
    assert sorted(seen) == [number for number in range(SIZE) if number % 5 != 3]


def test_buckets_and_mixtures() -> None:
    lengths = np.random.default_rng(0).integers(1, 30, SIZE).astype(np.float64)
    bucket = gradiva.samplers.Bucket(lengths, max_tokens=60)
    seen: list[int] = []
    state = None
    for world, taken in ((2, 3), (3, 2), (1, 99)):
        loops = [
            PipelineIterator(
                training(batch_size=6, num_shards=world, shard_id=rank, bucket=bucket),
                ["label", "noise", "flipped"],
                reader_name="reader",
                last_batch_policy=PARTIAL,
            )
            for rank in range(world)
        ]
        for loop in loops:
            if state is not None:
                loop.load_state_dict(state)
        for _, rows in zip(range(taken), zip(*loops, strict=True), strict=False):
            for row in rows:
                labels = row[0]["label"].ravel()
                assert len(labels) < 2 or len(labels) * lengths[labels].max() <= 60
                seen += labels.tolist()
        state = loops[0].state_dict()
        assert taken == 99 or state["batch"] == 6
    assert sorted(seen) == list(range(SIZE))


def test_refusals() -> None:
    (loop,) = iterators(1)
    state = loop.state_dict()
    plain = PipelineIterator(
        training(batch_size=4, sharding="contiguous"), ["a", "b", "c"], reader_name="reader"
    )
    with pytest.raises(gradiva.OperatorValueError, match='sharding="interleaved"'):
        plain.state_dict()
    with pytest.raises(gradiva.OperatorTypeError, match="what `state_dict` returned"):
        loop.load_state_dict({"epoch": 1})
    with pytest.raises(gradiva.OperatorTypeError, match="what `state_dict` returned"):
        loop.load_state_dict({**state, "epoch": 1 << 40})

    @pipeline_def(batch_size=4, num_threads=1)
    def mixed() -> Any:
        labels = fn.readers.file(**files())[1]
        return labels, fn.readers.file(**files(sharding="contiguous", name="other"))[1]

    with pytest.raises(gradiva.OperatorValueError, match="or none does"):
        PipelineIterator(mixed(), ["a", "b"], reader_name="reader")
    with pytest.raises(gradiva.OperatorValueError, match="another graph, another seed or other"):
        loop.load_state_dict({**state, "seed": 8})
    with pytest.raises(gradiva.OperatorValueError, match="another graph, another seed or other"):
        iterators(1, random_shuffle=False)[0].load_state_dict(state)
    with pytest.raises(gradiva.OperatorValueError, match="'contiguous' or 'interleaved'"):
        training(batch_size=4, sharding=3)
    with pytest.raises(gradiva.OperatorValueError, match="no shard of their own to keep to"):
        training(batch_size=4, stick_to_shard=True).build()
    other = plain._pipes[0].checkpoint()
    with pytest.raises(ValueError, match="argument `sharding`"):
        pipes(1, checkpoint=other)[0].build()


def test_one_sample_and_schedules() -> None:
    """A schedule by steps counts those of all processes; a single sample knows its step."""

    @pipeline_def(num_threads=1, seed=7)
    def scheduled(**arguments: Any) -> Any:
        labels = fn.readers.file(**files(**arguments))[1]
        return labels, labels * gradiva.schedule({0: 0.0, 100: 100.0}, per="step")

    found: dict[int, float] = {}
    for rank in range(2):
        pipe = scheduled(batch_size=6, num_shards=2, shard_id=rank)
        for step in range(7):
            labels, values = (batch.as_array().ravel() for batch in pipe.run())
            np.testing.assert_allclose(values, labels * float(step))
            if step < 5:
                found.update(zip(labels.tolist(), values.tolist(), strict=True))
        label, value = (float(np.asarray(one).ravel()[0]) for one in pipe.sample(0, 40))
        assert value == label * 3
    assert len(found) == SIZE


# Dynamic mode.


def reader(world: int, rank: int, **arguments: Any) -> Any:
    given = files(num_shards=world, shard_id=rank, seed=7, **arguments)
    return gradiva.readers.File(**given)


def labels_of(made: list[Any], count: int, turns: int | None, capture: bool) -> list[list[int]]:
    """Of each step, of all readers in their order."""
    loops = [one.next_epoch(batch_size=count, capture=capture) for one in made]
    found = []
    lengths = [len(loop) for loop in loops]
    assert lengths == lengths[:1] * len(made)
    for _ in range(lengths[0] if turns is None else min(turns, lengths[0])):
        rows: list[int] = []
        for loop in loops:
            noise = gradiva.random.uniform(range=(0.0, 1.0), batch_size=1)  # a call of each turn
            numbers = next(loop)[1] + 0
            rows += numbers.as_array().ravel().tolist()
            del noise
        found.append(rows)
    for loop in loops:
        loop.close()
    return found


@pytest.mark.parametrize("capture", [False, True])
def test_readers_of_dynamic_mode(capture: bool) -> None:
    expected = labels_of([reader(1, 0)], 12, None, capture)
    made = [reader(3, rank) for rank in range(3)]
    found = labels_of(made, 4, 2, capture)
    state = made[1].get_state()
    assert state["index"] == 24
    made = [reader(2, rank) for rank in range(2)]
    for one in made:
        one.set_state(state)
    assert found + labels_of(made, 6, None, capture) == expected


def test_feedback_goes_on() -> None:
    """Weights that are set in the middle of an epoch are those of the next one, for any world."""
    given = {"sampler": "weighted", "weights": np.ones(SIZE)}
    alone, scores = reader(1, 0, **given), np.where(np.arange(SIZE) % 2, 0.0, 1.0)
    positions = np.arange(SIZE)
    alone.feedback(positions, scores)
    labels_of([alone], 12, 3, False)
    made = [reader(2, rank, **given) for rank in range(2)]
    for one in made:
        one.set_state(alone.get_state())
    rest = labels_of(made, 6, None, False)
    assert rest == labels_of([alone], 12, None, False)
    after = labels_of(made, 6, None, False)
    assert after == labels_of([alone], 12, None, False)
