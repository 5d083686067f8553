"""Data sets and loaders of torch go on with other numbers of processes and workers: the same bits
in each step."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import gradiva  # noqa: E402
from gradiva import fn, pipeline_def  # noqa: E402
from gradiva.plugin.pytorch import DataLoader, IterableDataset  # noqa: E402

from .torch_training import SIZE, WHOLE, digest, trainers, training  # noqa: E402

STEPS = -(-SIZE // WHOLE)
full = pytest.mark.full
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


def epoch(loaders: list[Any]) -> list[str]:
    return [digest(parts) for parts in zip(*loaders, strict=True)]


@pytest.fixture(scope="module")
def expected() -> list[list[str]]:
    """The steps of three epochs, of one process."""
    loaders = trainers(1, 0)
    found = [epoch(loaders) for _ in range(3)]
    assert [len(one) for one in found] == [STEPS] * 3
    assert len({step for one in found for step in one}) == 3 * STEPS
    return found


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=full), pytest.param(3, marks=full)])
@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
def test_all_worlds(world: int, workers: int, expected: list[list[str]]) -> None:
    loaders = trainers(world, workers)
    assert [len(loader) for loader in loaders] == [STEPS] * world
    assert [epoch(loaders) for _ in range(2)] == expected[:2]


def taken(loaders: list[Any], count: int) -> list[str]:
    loops = [iter(loader) for loader in loaders]
    return [digest([next(loop) for loop in loops]) for _ in range(count)]


def check_change(
    before: tuple[int, int], after: tuple[int, int], count: int, expected: list[list[str]]
) -> None:
    loaders = trainers(*before)
    found = taken(loaders, count)
    states = [loader.state_dict() for loader in loaders]
    assert states == states[:1] * before[0]
    text = json.dumps(states[-1])
    assert len(text) < 200
    loaders = trainers(*after)
    for loader in loaders:
        loader.load_state_dict(json.loads(text))
        assert len(loader) == STEPS
    assert found + epoch(loaders) == expected[0]
    assert [epoch(loaders) for _ in range(2)] == expected[1:]


@pytest.mark.parametrize("count", [0, 2, STEPS])
def test_other_worlds_go_on(count: int, expected: list[list[str]]) -> None:
    check_change((2, 0), (3, 0), count, expected)


@full
@pytest.mark.parametrize("seed", range(8))
def test_other_worlds_and_workers_go_on(seed: int, expected: list[list[str]]) -> None:
    drawn = random.Random(seed)
    places = [(drawn.choice([1, 2, 3, 4, 8]), drawn.choice([0, 1, 3])) for _ in range(2)]
    check_change(places[0], places[1], drawn.randint(0, STEPS), expected)


@full
def test_persistent_workers(expected: list[list[str]]) -> None:
    """They hear of a state that is loaded while they wait for the next epoch."""
    data = trainers(1, 0)[0].dataset
    loader = DataLoader(data, num_workers=2, persistent_workers=True)
    first = taken([loader], 2)
    state = loader.state_dict()
    assert epoch([loader]) == expected[1]
    loader.load_state_dict(state)
    assert first + epoch([loader]) == expected[0]
    assert epoch([loader]) == expected[1]


@full
def test_workers_that_start_afresh(expected: list[list[str]]) -> None:
    loader = trainers(1, 0)[0]
    first = taken([loader], 3)
    data = trainers(1, 0)[0].dataset
    data.load_state_dict(loader.state_dict())
    spawned = DataLoader(data, num_workers=2, multiprocessing_context="spawn")
    assert first + epoch([spawned]) == expected[0]
    assert spawned.state_dict()["epoch"] == 1


def stateful(world: int, workers: int, **options: Any) -> list[Any]:
    kind = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    return [
        kind(one.dataset, batch_size=None, num_workers=workers, **options)
        for one in trainers(world, 0)
    ]


@full
@pytest.mark.filterwarnings("ignore:.*set_vital.*:UserWarning")
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("workers", [0, 3])
def test_stateful_loaders(workers: int, count: int, every: int, expected: list[list[str]]) -> None:
    """Their state is loaded by them with as many workers; and by a data set, for any."""
    options = {"snapshot_every_n_steps": every} if workers else {}
    loaders = stateful(2, workers, **options)
    found = taken(loaders, count)
    file = io.BytesIO()
    torch.save([loader.state_dict() for loader in loaders], file)
    file.seek(0)
    states = torch.load(file, weights_only=False)
    again = stateful(2, workers, **options)
    for loader, state in zip(again, states, strict=True):
        loader.load_state_dict(state)
    assert found + epoch(again) == expected[0]
    assert epoch(again) == expected[1]
    for world, others in ((3, 0), (1, 2)):
        loaders = trainers(world, others)
        for one in loaders:
            one.dataset.load_state_dict(states[0])
        assert found + epoch(loaders) == expected[0]


def test_a_loop_without_a_loader(expected: list[list[str]]) -> None:
    data = [loader.dataset for loader in trainers(3, 0)]
    found = taken(data, 3)
    state = data[1].state_dict()
    assert (state["epoch"], state["samples"], state["seed"]) == (0, 72, 7)
    torch.save(state, io.BytesIO())
    data = [loader.dataset for loader in trainers(2, 0)]
    for one in data:
        one.load_state_dict(state)
        assert one.state_dict() == state
    assert found + epoch(data) == expected[0]
    assert data[0].state_dict()["epoch"] == 1
    assert data[0].state_dict()["samples"] == 0
    assert epoch(data) == expected[1]


def test_pipelines_without_a_seed() -> None:
    """They take that of the state, whatever the process would give them."""
    gradiva.random.set_seed(5)
    begun = IterableDataset(unseeded, ["label"])
    whole = [digest([batch]) for batch in IterableDataset(unseeded, ["label"])]
    found = taken([begun], 2)
    state = begun.state_dict()
    gradiva.random.set_seed(6)
    other = IterableDataset(unseeded, ["label"])
    assert len(other) == len(whole)
    assert other.state_dict()["seed"] != state["seed"]
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert found + epoch([other]) == whole


def test_old_states(expected: list[list[str]]) -> None:
    """Of contiguous shards: those of a single process, and between epochs, go on."""
    old = IterableDataset(
        sharded, ["label", "noise", "@position"], sharding="contiguous", batch_size=WHOLE
    )
    loop = iter(old)
    found = [digest([next(loop)]) for _ in range(2)]
    state = old.state_dict()
    assert "checkpoint" in state
    data = [loader.dataset for loader in trainers(2, 0)]
    for one in data:
        one.load_state_dict(state)
    assert found + epoch(data) == expected[0]
    part = IterableDataset(
        sharded, ["label", "noise"], sharding="contiguous", rank=1, world_size=2, batch_size=5
    )
    next(iter(part))
    with pytest.raises(ValueError, match="in the middle of an epoch: finish the epoch with"):
        data[0].load_state_dict(part.state_dict())
    list(part)
    data[0].load_state_dict(part.state_dict())
    assert data[0].state_dict()["epoch"] == 2
    other = trainers(1, 0)[0].dataset
    next(iter(other))
    with pytest.raises(ValueError, match="'interleaved', as in the state"):
        part.load_state_dict(other.state_dict())


def test_refusals() -> None:
    (loader,) = trainers(1, 0)
    state = loader.state_dict()
    with pytest.raises(TypeError, match="what `state_dict` returned"):
        loader.load_state_dict({"epoch": 1})
    loader.load_state_dict({**state, "seed": 8})
    with pytest.raises(ValueError, match="another graph, another seed or other data"):
        next(iter(loader))
    with pytest.raises(ValueError, match=r"a divisor of 24, got 5"):
        trainers(5, 0)
    with pytest.raises(ValueError, match="the pipeline makes batches"):
        DataLoader(loader.dataset, batch_size=4)
    with pytest.raises(TypeError, match="an IterableDataset of gradiva"):
        DataLoader([1, 2])
    with pytest.raises(ValueError, match="expected 'interleaved' or"):
        IterableDataset(training, ["a", "b"], sharding="mixed")
    with pytest.raises(ValueError, match="got 'contiguous'"):
        DataLoader(IterableDataset(sharded, ["a", "b"], sharding="contiguous"))


@pipeline_def(batch_size=9, num_threads=1)
def unseeded() -> Any:
    return fn.readers.file(
        files=[__file__] * SIZE, labels=list(range(SIZE)), random_shuffle=True, name="reader"
    )[1]


def sharded(shard_id: int, num_shards: int, **options: Any) -> Any:
    """The training, whose reader is told its shard."""

    @pipeline_def(num_threads=1, seed=7)
    def made() -> Any:
        _, labels = fn.readers.file(
            files=[__file__] * SIZE,
            labels=list(range(SIZE)),
            random_shuffle=True,
            name="reader",
            shard_id=shard_id,
            num_shards=num_shards,
        )
        noise = fn.random.uniform(range=(0.0, 1.0), shape=(2, 2, 1))
        return labels, fn.flip(noise, horizontal=fn.random.coin_flip())

    return made(**options)


@full
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_random_moments(tmp_path: Path, seed: int, expected: list[list[str]]) -> None:
    """With -9, and started again with other numbers."""
    drawn = random.Random(seed)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    log = tmp_path / "log"
    for kill in range(4):  # the last one comes to its end
        world, workers = drawn.choice([1, 2, 3, 4]), drawn.choice([0, 1, 3])
        command = [sys.executable, "-m", "tests.gradiva.torch_training", str(tmp_path)]
        child = subprocess.Popen(
            [*command, str(world), str(workers), "3"],
            env=environment,
            cwd=root,
            start_new_session=True,
        )
        if kill == 3:
            assert child.wait(120) == 0
            break
        before, wait = log.read_bytes().count(b"\n") if log.exists() else 0, drawn.randint(0, 3)
        until = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < until:
            if log.exists() and log.read_bytes().count(b"\n") > before + wait:
                break
            time.sleep(drawn.random() * 0.02)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    steps = json.loads((tmp_path / "state.json").read_text())["steps"]
    assert steps == [step for one in expected for step in one]
