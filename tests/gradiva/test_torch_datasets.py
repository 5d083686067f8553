"""`IterableDataset`: pipelines in the workers of a torch DataLoader."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from gradiva.plugin.pytorch import DALIGenericIterator, IterableDataset, LastBatchPolicy  # noqa: E402

SIZE = 20


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"x")
    return str(path)


@pipeline_def(batch_size=3, num_threads=1, seed=7)
def shuffled(
    file: str, shard_id: int, num_shards: int, size: int = SIZE, pad_last_batch: bool = False
) -> Any:
    labels = fn.readers.file(
        files=[file] * size,
        labels=list(range(size)),
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=pad_last_batch,
        name="reader",
    )[1]
    return labels, fn.random.uniform(range=(0.0, 1.0))


@pipeline_def(batch_size=3, num_threads=1)
def unseeded(file: str, shard_id: int, num_shards: int) -> Any:
    return fn.readers.file(
        files=[file] * SIZE,
        labels=list(range(SIZE)),
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
    )[1]


def dataset(file: str, **options: Any) -> IterableDataset:
    return IterableDataset(shuffled, ["label", "noise"], file=file, **options)


def contiguous(file: str, **options: Any) -> IterableDataset:
    return dataset(file, sharding="contiguous", **options)


Turn = tuple[list[int], list[float]]


def turns(loader: Any) -> list[Turn]:
    return [(turn["label"].ravel().tolist(), turn["noise"].ravel().tolist()) for turn in loader]


def samples(epoch: list[Turn]) -> list[int]:
    return sorted(label for labels, _ in epoch for label in labels)


def test_without_workers(file: str) -> None:
    """The batches are those of an iterator over the pipeline, epoch by epoch."""
    loader = DataLoader(dataset(file, num_workers=0), batch_size=None)
    pipe = shuffled(file, shard_id=0, num_shards=1)
    expected = DALIGenericIterator(
        pipe, ["label", "noise"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    for _ in range(3):
        assert len(loader) == 7
        found = turns(loader)
        assert found == turns(row[0] for row in expected)
        assert samples(found) == list(range(SIZE))


@pytest.mark.full
@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}])
def test_workers_read_a_shard_each(file: str, options: dict[str, Any]) -> None:
    """All samples once in an epoch, each epoch in another order, also where workers are new."""
    loader = DataLoader(contiguous(file, num_workers=2), batch_size=None, num_workers=2, **options)
    assert len(loader) == 8
    found = [turns(loader) for _ in range(2)]
    assert [samples(epoch) for epoch in found] == [list(range(SIZE))] * 2
    assert [len(epoch) for epoch in found] == [8, 8]
    assert found[0] != found[1]
    begin = contiguous(file)
    begin.set_epoch(1)
    assert turns(DataLoader(begin, batch_size=None, num_workers=2)) == found[1]


@pytest.mark.full
def test_workers_that_start_afresh(file: str) -> None:
    """They know nothing of the seed of this process, and read parts of one order all the same."""
    data = IterableDataset(unseeded, ["label"], file=file)
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    assert sorted(label for turn in loader for label in turn["label"].ravel().tolist()) == list(
        range(SIZE)
    )


@pytest.mark.full
def test_ranks_and_workers(file: str) -> None:
    """Shard `rank * workers + worker` of all."""
    found = []
    for rank in range(2):
        part = dataset(file, rank=rank, world_size=2, num_workers=2)
        assert len(part) == 4
        found += turns(DataLoader(part, batch_size=None, num_workers=2))
    assert samples(found) == list(range(SIZE))


def place_in(file: str, stateful: Callable[..., Any], workers: int, taken: int) -> Any:
    """The state of a loader after so many batches, through a file as torch saves it."""
    loader = stateful(dataset(file), batch_size=None, num_workers=workers)
    loop = iter(loader)
    for _ in range(taken):
        next(loop, None)
    saved = io.BytesIO()
    torch.save(loader.state_dict(), saved)
    saved.seek(0)
    return torch.load(saved, weights_only=False)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*set_vital.*:UserWarning")
@pytest.mark.parametrize(("workers", "places"), [(0, (0, 1, 4, 7, 8)), (2, (0, 3, 8))])
def test_a_stateful_loader_goes_on(file: str, workers: int, places: tuple[int, ...]) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    whole = stateful(dataset(file), batch_size=None, num_workers=workers)
    expected = [turns(whole) for _ in range(3)]
    for taken in places:
        loader = stateful(dataset(file), batch_size=None, num_workers=workers)
        loader.load_state_dict(place_in(file, stateful, workers, taken))
        if taken <= len(expected[0]):
            assert turns(loader) == expected[0][taken:]
        assert turns(loader) == expected[1]
        assert turns(loader) == expected[2]


def test_a_state_by_hand(file: str) -> None:
    begun = contiguous(file)
    loop = iter(begun)
    expected = turns(iter(contiguous(file)))
    for _ in range(2):
        next(loop)
    state = pickle.loads(pickle.dumps(begun.state_dict()))
    assert (state["epoch"], state["batches"], state["finished"]) == (0, 2, False)
    resumed = contiguous(file)
    resumed.load_state_dict(state)
    assert turns(iter(resumed)) == expected[2:]
    other = contiguous(file, rank=1, world_size=2)
    other.load_state_dict(state)
    with pytest.raises(ValueError, match="expected shard 0 of 1, got shard 1 of 2"):
        next(iter(other))
    with pytest.raises(ValueError, match="what `state_dict` returned"):
        resumed.load_state_dict({"epoch": "one"})


@pytest.mark.full
def test_a_state_that_the_main_process_loads(file: str) -> None:
    """It holds for the workers of the next loop alone."""
    first, begun = dataset(file), dataset(file)
    expected = [turns(iter(first)) for _ in range(3)]
    loop = iter(begun)
    taken = turns(next(loop) for _ in range(2))
    resumed = dataset(file)
    resumed.load_state_dict(begun.state_dict())
    loader = DataLoader(resumed, batch_size=None, num_workers=1)
    assert taken + turns(loader) == expected[0]
    assert [turns(loader) for _ in range(2)] == expected[1:]
    # The main process knows of whole epochs.
    resumed.load_state_dict(first.state_dict())
    assert resumed.state_dict()["epoch"] == 3


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_no_state_of_what_workers_read(file: str, context: str) -> None:
    """The main process does not know their place, and must not give another one."""
    data = dataset(file)
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context=context)
    assert data.state_dict()["epoch"] == 0
    loop = iter(loader)
    for _ in range(3):
        next(loop)
    with pytest.raises(RuntimeError, match=r"torchdata's StatefulDataLoader.*num_workers=0"):
        data.state_dict()
    del loop
    with pytest.raises(RuntimeError, match=r"^IterableDataset\.state_dict: the workers of"):
        data.state_dict()
    data.set_epoch(2)
    assert data.state_dict()["epoch"] == 2
    next(iter(loader))
    here = iter(data)
    next(here)
    assert data.state_dict()["samples"] == 3
    state = data.state_dict()
    next(iter(loader))
    data.load_state_dict(state)
    assert data.state_dict()["samples"] == 3


def test_a_loop_that_is_left(file: str) -> None:
    """The next one is the next epoch; who goes on with the first is told."""
    data = dataset(file)
    expected = [turns(iter(data)) for _ in range(2)]
    data = dataset(file)
    left = iter(data)
    next(left)
    assert turns(iter(data)) == expected[1]
    with pytest.raises(ValueError, match="another one over the same data set"):
        next(left)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"num_workers": -1}, ValueError, "an integer from 0 on"),
        ({"rank": 2, "world_size": 2}, ValueError, "a number below 2"),
        ({"reader_name": "other"}, ValueError, "the name of a reader"),
        ({"last_batch_policy": LastBatchPolicy.FILL}, ValueError, "pad_last_batch=True"),
        ({"num_workers": 2}, ValueError, "another number of workers"),
    ],
)
def test_refusals(file: str, options: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        next(iter(contiguous(file, **options)))


def test_padding_readers_may_fill(file: str) -> None:
    data = dataset(file, last_batch_policy=LastBatchPolicy.FILL, pad_last_batch=True, num_workers=0)
    assert [len(labels) for labels, _ in turns(iter(data))] == [3] * 7 == [3] * len(data)


def test_functions_without_shards(file: str) -> None:
    @pipeline_def(batch_size=2)
    def whole() -> Any:
        return fn.readers.file(files=[file])[1]

    with pytest.raises(TypeError, match="none called shard_id or num_shards"):
        IterableDataset(whole, ["label"], sharding="contiguous")
    assert len(list(IterableDataset(whole, ["label"]))) == 1
    with pytest.raises(TypeError, match="a function made by pipeline_def"):
        IterableDataset(whole(), ["label"])

    @pipeline_def(batch_size=2)
    def deaf(shard_id: int, num_shards: int) -> Any:
        return fn.readers.file(files=[file] * 4, labels=[0] * 4)[1]

    with pytest.raises(ValueError, match="must hand its arguments"):
        next(
            iter(
                IterableDataset(
                    deaf, ["label"], rank=1, world_size=2, seed=1, sharding="contiguous"
                )
            )
        )
    with pytest.raises(ValueError, match="the same in all processes"):
        IterableDataset(deaf, ["label"], rank=1, world_size=2)

    @pipeline_def(batch_size=2)
    def fed(shard_id: int, num_shards: int) -> Any:
        return fn.external_source(lambda: np.zeros((2, 1)))

    with pytest.raises(ValueError, match="a pipeline with a reader"):
        next(iter(IterableDataset(fed, ["data"])))
    with pytest.raises(TypeError, match="how many workers the DataLoader has"):
        len(IterableDataset(fed, ["data"], sharding="contiguous"))

    @pipeline_def(batch_size=2)
    def both(shard_id: int, num_shards: int) -> Any:
        return fn.readers.file(files=[file])[1], fn.external_source(lambda: np.zeros((2, 1)))

    with pytest.raises(TypeError, match=r"only readers can share.*sharding=.contiguous"):
        len(IterableDataset(both, ["label", "data"]))


def test_shards_to_keep_to(file: str) -> None:
    @pipeline_def(batch_size=2)
    def local() -> Any:
        return fn.readers.file(files=[file] * 4, labels=[0] * 4, stick_to_shard=True)[1]

    with pytest.raises(ValueError, match=r"to keep to; sharding=.contiguous. reads without that"):
        len(IterableDataset(local, ["label"]))


class Live(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
    """What must not be: an iterator of the parent process, in a worker."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop

    def __iter__(self) -> Any:
        return iter(self.loop)


@pytest.mark.full
def test_workers_with_a_live_pipeline(file: str) -> None:
    pipe: Pipeline = shuffled(file, shard_id=0, num_shards=1)
    loop = DALIGenericIterator(pipe, ["label", "noise"], reader_name="reader")
    next(loop)
    loader = DataLoader(Live(loop), batch_size=None, num_workers=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="belongs to the parent process of this fork"):
        next(iter(loader))
    assert len(turns(row[0] for row in loop)) == 6


def test_pictures(photographs: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=1, seed=1)
    def pictures(shard_id: int, num_shards: int) -> Any:
        files, labels = fn.readers.file(
            file_root=str(photographs), shard_id=shard_id, num_shards=num_shards
        )
        return fn.resize(fn.decoders.image(files), size=(8, 8)), labels

    data = IterableDataset(pictures, ["data", "label"], num_workers=0)
    found = list(data)
    assert len(found) == len(data)
    assert {turn["data"].shape[1:] for turn in found} == {(8, 8, 3)}


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.full)])
def test_pictures_of_different_sizes(photographs: Path, workers: int) -> None:
    @pipeline_def(batch_size=4, num_threads=1, seed=1)
    def pictures(shard_id: int, num_shards: int) -> Any:
        files, _ = fn.readers.file(
            file_root=str(photographs), shard_id=shard_id, num_shards=num_shards
        )
        return fn.decoders.image(files)

    loader = DataLoader(IterableDataset(pictures, ["data"]), batch_size=None, num_workers=workers)
    words = r"IterableDataset: output 'data': .*pad them in the pipeline, or use DALIRaggedIterator"
    with pytest.raises(ValueError, match=words):
        list(loader)
