"""Loaders on a Ray cluster: the bits of a local pipeline, whatever becomes of them."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.ray import LoaderPool
from gradiva.plugin.ray.shared_memory import machine

from .pipelines import GLOBAL, NAMES, SIZE, STORE, digest_of, large, local_digests, producer, write

pytestmark = [
    pytest.mark.full,
    pytest.mark.xdist_group("ray"),
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("default"),  # Ray has some of its own
]
EPOCHS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("arrays"))


@pytest.fixture(scope="module")
def wanted(folder: str) -> list[list[str]]:
    return local_digests(folder, EPOCHS, LastBatchPolicy.FILL)


@pytest.fixture(scope="module")
def pool(folder: str) -> Iterator[LoaderPool]:
    """At first one loader; processes take seconds to start, so most tests share them."""
    with LoaderPool(producer(folder), num_loaders=1, global_batch_size=GLOBAL, timeout=120) as made:
        yield made


def epoch_of(parts: list[Any]) -> list[str]:
    """The digests of the steps of an epoch, or of what is left of it."""
    return [digest_of(batches) for batches in zip(*parts, strict=True)]


def processes(pool: LoaderPool, cluster: Any) -> list[int]:
    found: list[int] = cluster.get([one.process.remote() for one in pool._loaders.values()])
    return found


def test_one_two_and_three_loaders(pool: LoaderPool, wanted: list[list[str]]) -> None:
    for count in (1, 2, 3):
        pool.resize(count)
        part = pool.iterator(0, 1, NAMES)
        assert len(part) == -(-SIZE // GLOBAL)
        assert [epoch_of([part]) for _ in range(EPOCHS)] == wanted


def test_worlds_two_three_one(pool: LoaderPool, wanted: list[list[str]]) -> None:
    """A training goes on with other trainers in the middle of an epoch, twice."""
    steps = len(wanted[0])
    found: list[str] = []
    state: dict[str, Any] | None = None
    for world, most in ((2, 2), (3, steps - 1), (1, 99)):
        pool.load_state_dict(state)
        parts = [pool.iterator(rank, world, NAMES) for rank in range(world)]
        loops = [iter(part) for part in parts]
        for _ in range(min(most, EPOCHS * steps - len(found))):
            batches = []
            for loop in loops:
                try:
                    batches.append(next(loop))
                except StopIteration:
                    batches.append(next(iter(loop)))
            found.append(digest_of(batches))
        states = [part.state_dict() for part in parts]
        assert all(one == states[0] for one in states)
        state = states[0]
    pool.load_state_dict(None)
    assert found == [digest for epoch in wanted for digest in epoch]


def test_loaders_are_killed(pool: LoaderPool, wanted: list[list[str]], cluster: Any) -> None:
    """One after the other; they start again."""
    pool.resize(max(2, len(pool._loaders)))
    part = pool.iterator(0, 1, NAMES)
    first, second, *_ = processes(pool, cluster)
    found = []
    for step, batch in enumerate(part):
        found.append(digest_of([batch]))
        if step in (0, 2):
            os.kill((first, second)[step // 2], signal.SIGKILL)
    assert found == wanted[0]
    assert epoch_of([part]) == wanted[1]
    assert part.waits.resent


def test_uneven_ends(folder: str, pool: LoaderPool) -> None:
    """PARTIAL deals what is left; the samples are those of a local pipeline."""
    wanted = local_digests(folder, 1, LastBatchPolicy.PARTIAL)
    parts = [
        pool.iterator(rank, 3, NAMES, last_batch_policy=LastBatchPolicy.PARTIAL)
        for rank in range(3)
    ]
    steps = list(zip(*parts, strict=True))
    assert [digest_of(batches) for batches in steps] == wanted[0]
    assert [len(batch["numbers"]) for batch in steps[-1]] == [0, 1, 1]
    numbers = [batch["numbers"].ravel() for batches in steps for batch in batches]
    assert sorted(np.concatenate(numbers).tolist()) == list(range(SIZE))


def test_contiguous_shards(folder: str, cluster: Any) -> None:
    """As readers have them. Then the only loader is killed for good."""
    with LoaderPool(producer(folder, 5), num_loaders=1, sharding="contiguous", timeout=120) as pool:
        for rank in range(2):
            pipe = producer(folder, 5, num_shards=2, shard_id=rank, pad_last_batch=True)()
            for _, batch in zip(range(5), pool.iterator(rank, 2, NAMES), strict=True):
                own = dict(zip(NAMES, (one.as_array() for one in pipe.run()), strict=True))
                assert digest_of([batch]) == digest_of([own])
            pipe.close()
        part = pool.iterator(0, 2, NAMES)
        cluster.kill(pool._loaders[0])
        epochs = itertools.chain.from_iterable(itertools.repeat(part, 200))
        with pytest.raises(gradiva.OperatorRuntimeError, match="all 1 loaders are dead"):
            list(epochs)  # it may make some batches until then


def test_cut_for_the_trainer(folder: str, wanted: list[list[str]]) -> None:
    """Where the fewest bytes are sent, here before floats."""
    with LoaderPool(producer(folder), trainer_fn="auto", timeout=120) as pool:
        cut = pool.facts.cut
        assert cut is not None
        assert cut.bytes < cut.before
        assert epoch_of([pool.iterator(0, 1, NAMES)]) == wanted[0]


def test_work_at_the_trainer(pool: LoaderPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(images: Any, numbers: Any, noise: Any) -> Any:
        return images * 0.5, gradiva.cast(numbers, dtype=gradiva.types.FLOAT)

    def noisy(images: Any, *others: Any) -> Any:
        return images + gradiva.random.uniform(range=(0, 1))

    whole = next(pool.iterator(0, 1, NAMES))
    monkeypatch.setattr(pool, "_trainer_fn", halved)
    found = next(pool.iterator(0, 1, ["half", "@index", "numbers"]))
    assert np.array_equal(found["half"], whole["images"] * np.float32(0.5))
    assert np.array_equal(found["numbers"], whole["numbers"])
    assert found["numbers"].dtype == np.float32
    assert found["half"].flags.writeable
    with pytest.raises(gradiva.OperatorValueError, match="a name for each of 2 outputs"):
        next(pool.iterator(0, 1, ["half"]))
    monkeypatch.setattr(pool, "_trainer_fn", noisy)
    with pytest.raises(gradiva.OperatorValueError, match="for the loaders to do"):
        next(pool.iterator(0, 1, ["noisy"]))


def test_a_trainer_in_another_process(
    pool: LoaderPool, wanted: list[list[str]], cluster: Any
) -> None:
    def train(*parts: Any) -> list[list[dict[str, Any]]]:
        return [
            [{name: np.array(batch[name]) for name in NAMES} for batch in part] for part in parts
        ]

    parts = [pool.iterator(rank, 2, NAMES) for rank in range(2)]
    found = cluster.get(cluster.remote(num_cpus=1)(train).remote(*parts), timeout=120)
    assert [digest_of(batches) for batches in zip(*found, strict=True)] == wanted[0]


def test_a_trainer_is_killed(
    pool: LoaderPool, wanted: list[list[str]], cluster: Any, tmp_path: Path
) -> None:
    """Another one goes on from its last state; loaders keep nothing of it."""
    file = tmp_path / "state.json"

    def train(part: Any) -> None:
        for step, _ in enumerate(part):
            file.write_text(json.dumps(part.state_dict()), "utf-8")
            if step == 1:
                os.kill(os.getpid(), signal.SIGKILL)

    started = cluster.remote(num_cpus=0, max_retries=0)(train).remote(pool.iterator(0, 1, NAMES))
    with pytest.raises(cluster.exceptions.WorkerCrashedError):
        cluster.get(started, timeout=120)
    part = pool.iterator(0, 1, NAMES)
    part.load_state_dict(json.loads(file.read_text("utf-8")))
    assert epoch_of([part]) == wanted[0][2:]


def test_the_object_store_is_full(pool: LoaderPool, tmp_path: Path) -> None:
    """A trainer keeps more batches than it holds: Ray writes them to the disk, and all come."""
    pool.resize(1)
    for number in range(2):
        np.save(tmp_path / f"{number}.npy", np.full(STORE // 10, number, np.uint8))
    made = large(str(tmp_path))
    with LoaderPool(made, num_loaders=1, timeout=120, share_memory=False) as loaders:
        part = loaders.iterator(0, 1, ("arrays", "noise"))
        kept = [batch for _ in range(7) for batch in part]
    assert sum(batch["arrays"].nbytes for batch in kept) > STORE
    with large(str(tmp_path))() as pipe:
        for batch in kept:
            arrays, noise = pipe.run()
            assert np.array_equal(batch["noise"], noise.as_array())
            assert np.array_equal(batch["arrays"], arrays.as_array())


def test_what_is_known(pool: LoaderPool) -> None:
    part = pool.iterator(0, 1, [*NAMES, "@path", "@index", "@position"])
    batch = next(part)
    assert [Path(name).name for name in batch["@path"]] == [
        f"{number:03}.npy" for number in batch["@index"]
    ]
    assert batch["@index"].tolist() == batch["numbers"].ravel().tolist()
    assert batch["@position"].tolist() == list(range(GLOBAL))
    assert not batch["images"].flags.writeable  # it lies in the memory of the loader


def mapping_at(address: int) -> str:
    """What is mapped there, as Linux says."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(one, 16) for one in line.split()[0].split("-"))
        if first <= address < last:
            return line
    return ""


@pytest.mark.skipif(not machine(), reason="no memory can be shared here")
def test_batches_stay_where_they_are(folder: str, pool: LoaderPool, cluster: Any) -> None:
    """Nothing is copied, also not into the object store; what is kept outlives its loader."""
    part = pool.iterator(0, 1, NAMES)
    kept = [batch for _ in range(2) for batch in part]
    assert all("memfd:gradiva" in mapping_at(one["images"].ctypes.data) for one in kept)
    digests = [digest_of([batch]) for batch in kept]
    assert len({batch["images"].ctypes.data for batch in kept}) == len(kept)
    for number in processes(pool, cluster):
        os.kill(number, signal.SIGKILL)
    assert [digest_of([batch]) for batch in kept] == digests
    part = pool.iterator(0, 1, NAMES)
    again = [batch for _ in range(2) for batch in part]
    assert [digest_of([batch]) for batch in again] == digests
    with LoaderPool(producer(folder), global_batch_size=GLOBAL, share_memory=False) as other:
        part = other.iterator(0, 1, NAMES)
        sent = [batch for _ in range(2) for batch in part]
        assert not any("memfd" in mapping_at(one["images"].ctypes.data) for one in sent)
        assert [digest_of([batch]) for batch in sent] == digests


def test_statistics(pool: LoaderPool) -> None:
    part = pool.iterator(0, 1, NAMES)
    for _ in part:
        pass
    part.close()
    with pytest.raises(gradiva.OperatorRuntimeError, match="was closed"):
        next(part)
    found = pool.stats()
    assert 0 in found["loaders"]
    assert sum(one["batches"] for one in found["loaders"].values()) >= 5
    assert any(one["restarts"] for one in found["loaders"].values())  # of the test above
    assert {"waited", "resent", "bytes"} <= set(found["trainers"][0])


def test_bad_samples(tmp_path: Path, pool: LoaderPool) -> None:
    """What is left out is listed once, whoever reads it."""
    pool.resize(1)  # the others leave their CPUs to this one
    folder = write(tmp_path)
    damaged = tmp_path / "007.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with LoaderPool(producer(folder, 10, on_error="skip"), num_loaders=1, timeout=120) as pool:
        for _ in range(2):
            part = pool.iterator(0, 1, NAMES)
            with pytest.warns(UserWarning, match=r"007\.npy"):
                assert sum(len(batch["noise"]) for batch in part) == SIZE - 1
            assert len(part.quarantine) == 1
            part.close()
        (entry,) = pool.quarantine
        assert str(entry.file).endswith("007.npy")
        # Data that change are no samples of this pool; the error has come through Ray.
        damaged.unlink()
        with pytest.raises(gradiva.OperatorRuntimeError, match="another graph or other data"):
            pool.resize(2)


def test_stored_pipelines(folder: str, tmp_path: Path) -> None:
    """They are sent as bytes, with the bits of the original."""
    from gradiva import fn, pipeline_def

    @pipeline_def(batch_size=4, num_threads=1, seed=3)
    def plain() -> Any:
        return fn.readers.numpy(file_root=folder, random_shuffle=True)

    pipe = plain()
    first = np.array(pipe.run()[0].as_array())
    pipe.close()
    with LoaderPool(plain(), num_loaders=1, timeout=120) as pool:
        assert pool.facts.seed == 3
        assert np.array_equal(next(pool.iterator(0, 1, ["arrays"]))["arrays"], first)


def test_states_of_others(folder: str, pool: LoaderPool) -> None:
    part = pool.iterator(0, 1, NAMES)
    state = part.state_dict()
    for change, said in (
        ({"digest": "0"}, "the digest"),
        ({"seed": 12}, "the seed 11"),
        ({"step": -1}, "what `state_dict` returned"),
        ({"sharding": "contiguous"}, "`sharding`"),
    ):
        with pytest.raises(gradiva.GradivaError, match=said):
            part.load_state_dict({**state, **change})


def test_refusals(folder: str, pool: LoaderPool) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"num_loaders": 0}, "`num_loaders`"),
        ({"timeout": 0}, "`timeout`"),
        ({"sharding": "both"}, "`sharding`"),
        ({"num_loaders": 1, "cpus_per_loader": 99, "start_timeout": 3}, "each asks for 99 CPUs"),
    ]
    for given, said in cases:
        with pytest.raises(gradiva.GradivaError, match=said):
            LoaderPool(producer(folder), **given)
    with pytest.raises(gradiva.OperatorTypeError, match="`pipeline`"):
        LoaderPool(3)  # type: ignore[arg-type]
    with pytest.raises(gradiva.GradivaError, match="none"):
        LoaderPool(producer(folder + "/none"), num_loaders=1)
    with pytest.raises(gradiva.OperatorValueError, match="`rank`: expected 0 to 1"):
        pool.iterator(2, 2, NAMES)
    with pytest.raises(gradiva.OperatorValueError, match="a divisor of 12, got 5"):
        pool.iterator(0, 5, NAMES)
    with pytest.raises(gradiva.OperatorValueError, match="`output_map`"):
        pool.iterator(0, 1, ["one"])
    with pytest.raises(gradiva.OperatorValueError, match="`to`"):
        pool.iterator(0, 1, NAMES, to="paper")
