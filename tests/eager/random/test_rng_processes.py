"""Random values in forked processes and in workers of a DataLoader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gradiva.eager.random.default_generator import DefaultRNG
from gradiva.random import get_default_rng, set_seed

ROOT = Path(__file__).parents[3]


def result_of(*program: str) -> Any:
    """What a program of `draws_in_processes` prints."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-m",
            "tests.eager.random.draws_in_processes",
            *program,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def all_differ(values: list[Any]) -> bool:
    """Whether no two of these are equal."""
    return len({json.dumps(value) for value in values}) == len(values)


def test_children_draw_their_own_values_and_the_same_again() -> None:
    found = result_of("forks")
    families = found["families"]
    assert families == found["again"], "not a function of seed and number of the fork"
    assert found["parent"] == found["plain"], "a fork changes nothing in the parent"
    everybody = [drawn for family in families for drawn in family]
    others = [found["parent"][:3], found["parent"][3:], found["other seed"]]
    assert all_differ([*everybody, *others, found["earlier in the parent"]])
    values = [value for drawn in (*everybody, found["parent"]) for value in drawn]
    assert len(set(values)) == len(values), "nobody repeats what somebody else has drawn"


@pytest.mark.full
def test_processes_of_multiprocessing() -> None:
    found = result_of("processes")
    again = result_of("processes")
    assert found["processes"] == again["processes"]
    assert all_differ(found["processes"])
    values = [value for (value,) in found["pool"]]
    # Which worker takes which task is chance; that two draw the same is not.
    assert len(set(values)) == len(values)


@pytest.mark.full
def test_what_a_child_keeps() -> None:
    found = result_of("kept")
    explicit, drawn, following, again, order, piped, reset = found["child"]
    assert explicit == found["explicit"], "generators that the user made are copied as they are"
    assert following == again, "the state of the child's generator is its own"
    assert order == found["order"], "shards of several processes belong to one order"
    assert piped == found["piped"], "pipelines are as in the parent"
    assert reset == found["parent"], "a seed that is set in the child wins"
    assert all_differ([drawn, following, reset])


@pytest.mark.full
def test_workers_of_a_data_loader() -> None:
    found = result_of("workers")
    epochs = found["epochs"]
    everybody = [worker for epoch in epochs for worker in epoch]
    drawn = [part for worker in everybody for part in worker[:3]]
    assert all_differ(drawn), "workers, epochs, and children of workers"
    assert found["again"] == epochs[1][1], "a function of the seed that torch gives the worker"
    assert found["by seed"] == epochs[1][1][0], "as after set_seed(torch.initial_seed())"
    assert [worker[3] for worker in everybody] == [1000, 1001, 2000, 2001]
    assert found["initialized"][3] == 3, "a seed that is set in `worker_init_fn` wins"
    assert found["initialized"][0] not in drawn


@pytest.mark.full
def test_forks_while_threads_draw() -> None:
    found = result_of("threads")
    assert all_differ(found)


@pytest.mark.full
def test_workers_of_external_sources_are_as_before() -> None:
    found = result_of("sources")
    assert [value for batch in found["found"] for value in batch] == found["expected"]
    assert found["after it"] == found["first child"], "they are not counted"


@pytest.fixture
def data() -> Iterator[Any]:
    """What stands for `torch.utils.data` in a process that is no worker yet."""
    module: Any = ModuleType("torch.utils.data")
    module.info = None
    module.get_worker_info = lambda: module.info
    before = sys.modules.get("torch.utils.data")
    sys.modules["torch.utils.data"] = module
    yield module
    if before is None:
        del sys.modules["torch.utils.data"]
    else:
        sys.modules["torch.utils.data"] = before


def test_a_worker_that_starts_afresh(data: Any) -> None:
    """With spawn: what is seeded while the worker is set up is not what it draws from, for all of
    them do that; readers have one order in all workers, with a seed and without one."""
    seeds: list[int] = []
    for number in range(2):
        data.info = None
        unseeded, seeded = DefaultRNG(), DefaultRNG()
        seeded.seed = 7
        seeded.draw()
        assert unseeded.shuffle_seed == unseeded.seed
        own = unseeded.inherited_seed
        data.info = SimpleNamespace(id=number, seed=5000 + number)
        assert unseeded.draw() == seeded.draw() == (5000 + number, 1 << 31)
        assert unseeded.inherited_seed == own
        assert seeded.inherited_seed == seeded.shuffle_seed == 7
        seeds.append(unseeded.shuffle_seed)
        unseeded.seed = 9
        assert unseeded.shuffle_seed == unseeded.inherited_seed == unseeded.draw().seed == 9
    assert seeds == [5000, 5000]


def test_workers_that_a_fork_server_forks_are_copies_as_well() -> None:
    rng, fresh = DefaultRNG(), DefaultRNG()
    rng.set_state((7, 4))
    rng.before_fork()
    rng.after_fork_in_child()
    assert rng.get_state()[0] != 7
    rng.be_as_parent()
    assert rng.get_state() == (7, 4)
    rng.set_state((8, 1))
    rng.be_as_parent()
    assert rng.get_state() == (8, 1)
    state = fresh.get_state()
    fresh.be_as_parent()
    assert fresh.get_state() == state


@pytest.mark.parametrize(
    "use",
    [
        lambda rng: rng.seed,
        lambda rng: rng.draw().seed,
        lambda rng: rng.get_state()[0],
        lambda rng: rng.state[0],
        lambda rng: rng.clone().seed,
        lambda rng: rng.advance(2) or rng.seed,
        lambda rng: int(repr(rng)[9:-1]),
        lambda rng: rng() and rng.seed,
    ],
)
def test_every_use_of_the_generator_is_the_first(data: Any, use: Any) -> None:
    rng = DefaultRNG()
    data.info = SimpleNamespace(id=1, seed=77)
    assert use(rng) == 77
    rng.set_state((5, 3))
    assert rng.get_state() == (5, 3)
    data.info = SimpleNamespace(id=1, seed=78)  # other workers, in a process that goes on
    assert use(rng) == 78


def test_modules_that_are_no_torch(data: Any) -> None:
    """torch while it is imported, and the process that is no worker."""
    set_seed(4)
    assert get_default_rng().draw().seed == 4
    del data.get_worker_info
    assert get_default_rng().draw().seed == 4
    sys.modules["torch.utils.data"] = None  # type: ignore[assignment]  # as if it must not be there
    assert get_default_rng().draw().seed == 4
    assert get_default_rng().get_state() == (4, 3)


def test_the_data_loader_of_torch() -> None:
    pytest.importorskip("torch")
    forked = result_of("loaders", "fork")
    plain = [[sample[1] for sample in epoch] for epoch in forked["plain"]]
    for method, kind in (
        ("fork", "plain"),
        ("fork", "seeded"),
        ("fork", "persistent"),
        ("spawn", "plain"),
        ("forkserver", "seeded"),
    ):
        epochs = (forked if method == "fork" else result_of("loaders", method))[kind]
        samples = [sample for epoch in epochs for sample in epoch]
        assert {sample[0] for sample in samples} == {0, 1}
        assert len({sample[1] for sample in samples}) == len(samples) == 16, "each draws its own"
        for epoch in epochs:
            assert all(sample[2] == epoch[0][2] for sample in epoch), "one order in all workers"
        if kind != "persistent":
            # A function of torch.manual_seed, however the workers start.
            assert [[sample[1] for sample in epoch] for epoch in epochs] == plain
    first, second = (
        {number: [sample[1] for sample in epoch if sample[0] == number] for number in (0, 1)}
        for epoch in forked["initialized"]
    )
    assert first[0] == first[1] == second[0] == second[1], "what `worker_init_fn` sets wins"
