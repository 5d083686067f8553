"""A pipeline of the main process for the workers of a torch DataLoader."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradiva import OperatorRuntimeError, Pipeline, fn, pipeline_def

torch = pytest.importorskip("torch")

from gradiva.plugin.pytorch.experimental import proxy  # noqa: E402

default_collate = torch.utils.data.default_collate


def noisy(**options: Any) -> Pipeline:
    """Adds one random number to each sample."""

    @pipeline_def(batch_size=4, num_threads=2, seed=5)
    def pipe() -> Any:
        data = fn.external_source(name="data")
        return data + fn.random.uniform(range=(0.0, 0.5))

    return pipe(**options)


def sums() -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=2)
    def pipe() -> Any:
        left, right = fn.external_source(name="left"), fn.external_source(name="right")
        return left + right, left - right

    return pipe()


class Rows:
    """Rows of a number, passed through a transform."""

    def __init__(self, transform: Any, count: int = 10) -> None:
        self.transform, self.count = transform, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.transform(np.full(3, index, np.float32)), index


def batches(server: Any, **options: Any) -> list[tuple[Any, Any]]:
    loader = proxy.DataLoader(server, Rows(server.proxy), batch_size=4, **options)
    return [(data.numpy(), labels.numpy()) for data, labels in loader]


@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 2}, {"num_workers": 1, "persistent_workers": True}]
)
def test_a_loader_makes_the_batches_of_the_pipeline(options: Any) -> None:
    pipe, expected = noisy(), []
    for first in range(0, 10, 4):
        given = [np.full(3, index, np.float32) for index in range(first, min(first + 4, 10))]
        expected.append(np.asarray(pipe.run(data=given)[0].as_array()))
    with proxy.DALIServer(noisy()) as server:
        found = batches(server, **options)
    assert len(found) == 3
    for (data, labels), wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(data, wanted)
        np.testing.assert_array_equal(labels, np.trunc(data[:, 0]))


def test_workers_that_start_afresh() -> None:
    with proxy.DALIServer(noisy()) as server, proxy.DALIServer(noisy()) as other:
        found = batches(server, num_workers=1, multiprocessing_context="spawn")
        for (data, _), (wanted, _) in zip(found, batches(other), strict=True):
            np.testing.assert_array_equal(data, wanted)


def test_epochs_and_loops_that_are_left() -> None:
    with proxy.DALIServer(noisy()) as server:
        loader = proxy.DataLoader(server, Rows(server.proxy), batch_size=4, num_workers=1)
        for _ in loader:
            break
        for _ in range(2):
            assert [len(labels) for _, labels in loader] == [4, 4, 2]


def test_a_server_that_stops_ends_its_loops() -> None:
    server = proxy.DALIServer(noisy())
    loop = iter(proxy.DataLoader(server, Rows(server.proxy, 40), batch_size=4))
    next(loop)
    server.stop_thread()
    assert len(list(loop)) <= noisy().cpu_queue_size + 1


def test_batches_by_hand() -> None:
    server = proxy.DALIServer(sums())
    items = []
    for number in range(4):
        total, difference = server.proxy(right=np.array([number]), left=np.array([10.0]))
        items.append((difference, number, total))
    collated = default_collate(items)
    assert all(isinstance(collated[place], proxy.DALIOutputBatchRef) for place in (0, 2))
    sent = pickle.loads(pickle.dumps(collated))
    assert sent[0].run is sent[2].run
    for one in (collated, sent):
        difference, numbers, total = server.produce_data(one)
        assert numbers.tolist() == [0, 1, 2, 3]
        assert total[:, 0].tolist() == [10, 11, 12, 13]
        assert difference[:, 0].tolist() == [10, 9, 8, 7]


def test_a_transform_that_is_called_twice_for_a_sample() -> None:
    server = proxy.DALIServer(noisy())
    items = [(server.proxy(np.zeros(2)), server.proxy(np.ones(2))) for _ in range(3)]
    first, second = server.produce_data(default_collate(items))
    assert first.shape == second.shape == (3, 2)
    assert bool((first < 1).all())
    assert bool((second >= 1).all())


def test_samples_of_different_shapes_and_types() -> None:
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe() -> Any:
        return fn.resize(fn.external_source(name="images", layout="HWC"), size=(4, 4))

    server = proxy.DALIServer(pipe())
    images = [np.full((3 + index, 5, 3), index, np.uint8) for index in range(3)]
    made = server.produce_data(default_collate([server.proxy(image) for image in images]))
    assert made.shape == (3, 4, 4, 3)
    assert made[:, 0, 0, 0].tolist() == [0, 1, 2]


class Pair(NamedTuple):
    left: Any
    right: Any


def test_wherever_outputs_are_they_are_put_in_place() -> None:
    server = proxy.DALIServer(noisy())

    def batch() -> Any:
        return default_collate([server.proxy(np.zeros(2))])

    one = batch()
    holder = SimpleNamespace(inside={"key": [one, "text"]}, itself=None)
    holder.itself = holder
    pair = Pair(one, holder)
    made = server.produce_data([pair, batch()])
    assert isinstance(made[0], Pair)
    assert made[0].right is holder
    assert holder.itself is holder
    assert isinstance(made[0].left, torch.Tensor)
    assert holder.inside["key"][0] is made[0].left
    assert holder.inside["key"][1] == "text"
    assert not torch.equal(made[0].left, made[1])
    untouched = (1, [2, {"three": 3}])
    assert server.produce_data(untouched) is untouched


def test_a_sample_without_a_batch() -> None:
    server = proxy.DALIServer(noisy())
    assert server.produce_data(server.proxy(np.zeros(2, np.float32))).shape == (2,)
    sent = pickle.loads(pickle.dumps(server.proxy(np.zeros(3, np.float32))))
    assert server.produce_data(sent).shape == (3,)
    loader = proxy.DataLoader(server, Rows(server.proxy, 3), batch_size=None, num_workers=1)
    assert [data.shape for data, _ in loader] == [(3,)] * 3


def test_an_error_belongs_to_its_batch() -> None:
    def failing(value: Any) -> Any:
        if value[0] == 5:
            raise ArithmeticError("a bad number")
        return value

    @pipeline_def(batch_size=4, num_threads=1)
    def pipe() -> Any:
        return fn.python_function(fn.external_source(name="data"), function=failing)

    with proxy.DALIServer(pipe()) as server:
        loop = iter(proxy.DataLoader(server, Rows(server.proxy), batch_size=4, num_workers=1))
        assert next(loop)[1].tolist() == [0, 1, 2, 3]
        with pytest.raises(RuntimeError, match="a bad number"):
            next(loop)
        assert next(loop)[1].tolist() == [8, 9]
        with pytest.raises(StopIteration):
            next(loop)
        with pytest.raises(StopIteration):
            next(loop)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(TypeError, match="Pipeline"):
        proxy.DALIServer("pipeline")  # type: ignore[arg-type]
    without: Any = pipeline_def(batch_size=1, num_threads=1)(fn.random.coin_flip)
    with pytest.raises(OperatorRuntimeError, match="no input"):
        proxy.DALIServer(without())
    two = proxy.DALIServer(sums()).proxy
    with pytest.raises(ValueError, match="positional"):
        two(np.zeros(1), np.zeros(1))
    with pytest.raises(TypeError, match="left, right"):
        two(left=np.zeros(1))
    with pytest.raises(TypeError, match="array"):
        two(left=np.zeros(1), right=object())
    pair = two(left=np.zeros(1), right=np.zeros(1))
    with pytest.raises(ValueError, match="one output"):
        default_collate(list(pair))
