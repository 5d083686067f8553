"""Functions of dynamic mode in a torch DataLoader; the evaluator of loaders; memory that is shared
with torch."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from gradiva.plugin.pytorch import DALIGenericIterator, Transform, collate  # noqa: E402
from gradiva.plugin.pytorch.loader_evaluator import LoaderEvaluator  # noqa: E402


class Pair(NamedTuple):
    small: Any
    double: Any


def smaller(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(8, 6))


def pairs(files: Any, labels: Any) -> Pair:
    return Pair(smaller(files), labels * 2)


def named(files: Any, labels: Any) -> dict[str, Any]:
    return {"data": smaller(files), "rest": [labels, "as it is"]}


@pytest.fixture(scope="module")
def pictures(photographs: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))[:5]]


def test_collate(pictures: list[bytes]) -> None:
    """Samples of tuples, dicts, and alone; the bits are those of the function on a batch."""
    expected = smaller(gradiva.batch([np.frombuffer(one, np.uint8) for one in pictures])).torch()
    loader = DataLoader(
        list(zip(pictures, range(5), strict=True)), batch_size=5, collate_fn=collate(pairs)
    )
    (found,) = loader
    assert isinstance(found, Pair)
    assert torch.equal(found.small, expected)
    assert found.double.ravel().tolist() == [0, 2, 4, 6, 8]
    rows = [{"files": one, "labels": torch.tensor([3.0])} for one in pictures]
    made = collate(named)(rows)
    assert torch.equal(made["data"], expected)
    assert made["rest"][0].shape == (5, 1)
    assert made["rest"][1] == "as it is"
    assert torch.equal(pickle.loads(pickle.dumps(collate(smaller)))(pictures), expected)
    assert repr(collate(smaller)) == "collate(smaller)"


@pytest.mark.full
def test_collate_in_workers(pictures: list[bytes]) -> None:
    loader = DataLoader(pictures, batch_size=2, num_workers=2, collate_fn=collate(smaller))
    expected = [collate(smaller)(pictures[first : first + 2]) for first in (0, 2, 4)]
    for found, wanted in zip(loader, expected, strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    ("samples", "kind", "words"),
    [
        ([], ValueError, "expected samples, got none"),
        ([(1, 2), (1,)], ValueError, "sample 1 of the batch has other parts"),
        ([{"a": 1}, {"b": 1}], ValueError, "sample 1 of the batch has other parts"),
        ([{"a": 1}, 2], ValueError, "sample 1 of the batch has other parts"),
        (["text"], TypeError, "arrays, tensors, pictures, numbers or bytes"),
        ([np.zeros(2), np.zeros(3)], ValueError, "different shapes"),
    ],
)
def test_what_collate_refuses(samples: list[Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        collate(lambda *parts, **more: parts[0])(samples)
    with pytest.raises(TypeError, match="expected a function"):
        collate(3)


def test_transform(pictures: list[bytes]) -> None:
    expected = collate(smaller)(pictures[:1])[0]
    transform = pickle.loads(pickle.dumps(Transform(smaller)))
    assert torch.equal(transform(pictures[0]), expected)
    assert torch.equal(Transform(lambda x: (x, x + 1))(torch.arange(3))[1], torch.arange(3) + 1)
    assert repr(transform) == "Transform(smaller)"
    with pytest.raises(TypeError, match="pictures, numbers or bytes"):
        transform(object())


@pipeline_def(batch_size=4, num_threads=1)
def arrays() -> Any:
    return fn.external_source(lambda number: np.full((4, 32, 32), number, np.float32)) + 1


def test_torch_has_our_memory() -> None:
    """The pointers are those of the batches, aligned; a tensor keeps its memory for itself."""
    pipe, pointers = arrays(), []

    class Noting(DALIGenericIterator):
        def _convert(self, name: Any, batch: Any) -> Any:
            pointers.append(batch.as_array().ctypes.data)
            return super()._convert(name, batch)

    held: list[Any] = []
    loop = Noting(pipe, ["data"])
    for _ in range(12):
        tensor = next(loop)[0]["data"]
        assert tensor.data_ptr() == pointers[-1]
        assert tensor.data_ptr() % 64 == 0
        held.append(tensor)
    assert len({one.data_ptr() for one in held}) == 12
    del loop, pipe
    assert [float(one[0, 0, 0]) for one in held] == list(range(1, 13))
    assert all(bool((one == one[0, 0, 0]).all()) for one in held)


def test_memory_is_used_again_when_torch_lets_go() -> None:
    pipe, seen = arrays(), []
    loop = DALIGenericIterator(pipe, ["data"])
    for _ in range(40):
        row = next(loop)[0]["data"]
        row += 1  # it is the loop's, and may be written
        seen.append(row.data_ptr())
    assert len(set(seen)) < 40


def test_evaluator(tmp_path: Path) -> None:
    loader = DataLoader(torch.utils.data.TensorDataset(torch.arange(10.0)), batch_size=3)
    log = LoaderEvaluator(loader, metrics_file=tmp_path / "log.json")
    assert len(log) == len(list(log)) == 4
    found = log.get_metrics()
    assert (found["mode"], found["total_batches"], len(found["batch_times"])) == ("log", 4, 4)
    assert found["min_batch_time"] <= found["avg_batch_time"] <= found["max_batch_time"]
    assert sum(found["batch_times"]) <= found["total_time"]
    log.save_metrics()
    assert json.loads((tmp_path / "log.json").read_text()) == found

    replay = LoaderEvaluator(loader, mode="replay", num_cached_batches=2)
    rows = [batch[0].tolist() for batch in replay]
    assert rows == [[0, 1, 2], [3, 4, 5]] * 2
    assert replay.get_metrics()["cached_batches"] == 2


def test_what_the_evaluator_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    endless = LoaderEvaluator(iter([1, 2, 3]), mode="replay", num_cached_batches=2)
    assert list(endless) == [1, 2]
    endless.print_summary()
    assert "mode replay: 2 batches" in capsys.readouterr().out
    for options, words in [
        ({"mode": "x"}, "'log' or 'replay'"),
        ({"num_cached_batches": 0}, "an integer from 1 on"),
    ]:
        with pytest.raises(ValueError, match=words):
            LoaderEvaluator([], **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the loader has no batch"):
        LoaderEvaluator([], mode="replay")
    with pytest.raises(ValueError, match="expected a name"):
        LoaderEvaluator([]).save_metrics()


@pytest.mark.parametrize("copy", [False, True])
def test_torch_tensors_of_outputs(copy: bool) -> None:
    from gradiva.plugin.pytorch import to_torch_type, torch_utils

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        return fn.external_source(lambda: np.arange(6, dtype=np.int16).reshape(2, 3))

    with pipe() as made:
        (batch,) = made.run()
        for given in (batch, batch.as_tensor(), gradiva.as_batch(batch), batch[1]):
            found = torch_utils.to_torch_tensor(given, copy)
            assert found.dtype is to_torch_type[given.dtype] is torch.int16
            assert found.ravel().tolist() == np.asarray(given).ravel().tolist()
            shares = np.shares_memory(found.numpy(), np.asarray(given))
            assert shares is not copy
        target = torch.zeros((2, 3), dtype=torch.int16, device="cpu")
        assert torch_utils.feed_ndarray(batch, target) is target
        assert target.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(gradiva.OperatorTypeError, match="a tensor or a batch"):
        torch_utils.to_torch_tensor([1], copy)


def test_another_default_device_of_torch() -> None:
    """Where new tensors of torch are made elsewhere by default, ours are where batches are."""
    from gradiva.plugin.pytorch import IterableDataset

    before = torch.get_default_device()
    torch.set_default_device("meta")
    try:
        data = IterableDataset(_numbers, ["data"], num_workers=0)
        found = [turn["data"] for turn in data]
    finally:
        torch.set_default_device(before)
    assert [one.device.type for one in found] == ["cpu", "cpu"]
    assert [one.ravel().tolist() for one in found] == [[0, 1], [2]]


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def _numbers(shard_id: int = 0, num_shards: int = 1) -> Any:
    return fn.readers.file(
        files=[__file__] * 3, labels=[0, 1, 2], name="R", shard_id=shard_id, num_shards=num_shards
    )[1]


def test_a_replay_of_a_loader_of_unknown_length() -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        return fn.external_source([np.zeros((2, 1))] * 3)

    loader = DALIGenericIterator(pipe(), ["data"])
    assert len(loader) == 0
    replay = LoaderEvaluator(loader, "replay", num_cached_batches=2)
    assert len(list(replay)) == 2
