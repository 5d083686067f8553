"""Iterators of all frameworks go on from a state that belongs to no process."""

from __future__ import annotations

import hashlib
import importlib
import json
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def

SIZE = 55
WHOLE = 12
NAMES = ["data", "label"]


@pipeline_def(num_threads=1, seed=7)
def training(shard_id: int, num_shards: int) -> Any:
    _, labels = fn.readers.file(
        files=[__file__] * SIZE,
        labels=list(range(SIZE)),
        random_shuffle=True,
        name="reader",
        shard_id=shard_id,
        num_shards=num_shards,
        sharding="interleaved",
    )
    return fn.random.uniform(range=(0.0, 1.0), shape=(2, 2)), labels


def pipe(rank: int, world: int) -> Pipeline:
    return training(shard_id=rank, num_shards=world, batch_size=WHOLE // world)


def digest(turns: Any) -> str:
    """Of a step of all trainers."""
    rows = []
    for turn in turns:
        for part in turn if isinstance(turn, list) else [turn]:
            rows += [[np.asarray(part[name]) for name in NAMES]]
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


def check(make: Any) -> None:
    """make: the iterator of a rank of so many, over its pipeline."""
    alone = make(0, 1)
    epochs = [[digest([turn]) for turn in alone] for _ in range(2)]
    for world, other, taken in ((2, 3, 2), (3, 1, 4), (1, 4, 1)):
        loops = [make(rank, world) for rank in range(world)]
        found = [digest([next(loop) for loop in loops]) for _ in range(taken)]
        states = [loop.state_dict() for loop in loops]
        assert states == states[:1] * world
        loops = [make(rank, other) for rank in range(other)]
        for loop in loops:
            loop.load_state_dict(json.loads(json.dumps(states[-1])))
        found += [digest(turns) for turns in zip(*loops, strict=True)]
        assert found == epochs[0]
        assert [digest(turns) for turns in zip(*loops, strict=True)] == epochs[1]


_SLOW = [pytest.param(name, marks=pytest.mark.full) for name in ("pytorch", "jax", "tf", "paddle")]


@pytest.mark.parametrize("name", ["numpy", *_SLOW])
def test_generic_iterators(name: str, request: pytest.FixtureRequest) -> None:
    if name == "pytorch":
        pytest.importorskip("torch")
    elif name != "numpy":
        request.getfixturevalue(name)
    kind = importlib.import_module(f"gradiva.plugin.{name}").DALIGenericIterator
    policy = importlib.import_module(f"gradiva.plugin.{name}").LastBatchPolicy.FILL
    check(
        lambda rank, world: kind(
            pipe(rank, world), NAMES, reader_name="reader", last_batch_policy=policy
        )
    )


@pytest.mark.full
@pytest.mark.parametrize("name", ["DALIClassificationIterator", "DALIRaggedIterator"])
def test_others_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert torch
    plugin = importlib.import_module("gradiva.plugin.pytorch")
    kind, policy = getattr(plugin, name), plugin.LastBatchPolicy.PARTIAL
    given = () if "Class" in name else (NAMES,)
    check(
        lambda rank, world: kind(
            pipe(rank, world), *given, reader_name="reader", last_batch_policy=policy
        )
    )


@pytest.mark.full
def test_devices_of_jax(jax: Any) -> None:
    """A pipeline for each device, and a sharding of JAX: the global array of a step is the same for
    any number of devices."""
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from gradiva.plugin.jax import data_iterator
    from gradiva.plugin.jax.clu import peekable_data_iterator

    def made(devices: int, maker: Any = data_iterator) -> Any:
        mesh = Mesh(np.array(jax.devices()[:devices]), ("batch",))
        sharding = NamedSharding(mesh, PartitionSpec("batch"))
        wrapped = maker(
            training, output_map=NAMES, reader_name="reader", sharding=sharding, auto_reset=True
        )
        return wrapped(batch_size=WHOLE)

    epochs = [[digest([turn]) for turn in loop] for loop in [made(1)] for _ in range(2)]
    for devices, other in ((2, 4), (4, 3), (3, 1)):
        loop = made(devices)
        found = [digest([next(loop)]) for _ in range(devices)]
        state = loop.state_dict()
        loop = made(other, peekable_data_iterator)
        loop.peek()
        with pytest.raises(ValueError, match="a batch ahead of the loop"):
            loop.state_dict()
        loop.load_state_dict(state)
        found += [digest([turn]) for turn in loop]
        assert found == epochs[0]
        assert [digest([turn]) for turn in loop] == epochs[1]
    # The last step has 7 samples of 12: of 3 devices, the first one has 4 of them.
    loop = made(3, peekable_data_iterator)
    loop.load_state_dict(state)
    flags = [np.asarray(loop.is_nonpadding).sum() for _ in loop]
    assert flags == [12, 7]
