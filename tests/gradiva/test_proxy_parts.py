"""The parts of the proxy for a DataLoader that need no torch: calls, batches, the loop ahead. All
of it together is in tests/capture/pipeline/test_proxy.py."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradiva import Batch, Pipeline, fn, pipeline_def
from gradiva.plugin.pytorch import proxy_calls as calls
from gradiva.plugin.pytorch.proxy_ahead import Ahead
from gradiva.plugin.pytorch.proxy_server import DALIServer

pytestmark = pytest.mark.core


class Block:
    """As much of a torch tensor as is asked of it."""

    def __init__(self, size: int) -> None:
        self.array = np.zeros(size, np.uint8)

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.array


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> dict[type, Any]:
    """torch, as far as it is needed. Returns what its `default_collate` knows."""
    known: dict[type, Any] = {}
    collate = SimpleNamespace(default_collate_fn_map=known)
    data = SimpleNamespace(data=SimpleNamespace(_utils=SimpleNamespace(collate=collate)))
    torch = SimpleNamespace(empty=lambda size, dtype, device: Block(size), uint8=None, utils=data)
    monkeypatch.setattr(calls, "torch", torch)
    monkeypatch.setattr(Batch, "torch", lambda self: np.array(self.as_array()))
    return known


def sums() -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe() -> Any:
        left, right = fn.external_source(name="left"), fn.external_source(name="right")
        return left + right, left - right

    return pipe()


def test_a_batch_goes_to_another_process_and_comes_out_as_outputs(stub: dict[type, Any]) -> None:
    server = DALIServer(sums())
    proxy = pickle.loads(pickle.dumps(server.proxy))
    made = [proxy(left=np.array([10.0, 1.0]), right=number) for number in range(3)]
    total, difference = (stub[calls.DALIOutputSampleRef](refs) for refs in zip(*made, strict=True))
    assert total.run is difference.run
    again, numbers, other = pickle.loads(pickle.dumps((difference, [1, 2], {"total": total})))
    first, same, last = server.produce_data((again, numbers, other))
    assert first.tolist() == [[10, 1], [9, 0], [8, -1]]
    assert same is numbers
    assert last["total"].tolist() == [[10, 1], [11, 2], [12, 3]]


def test_the_same_calls_in_another_order_are_another_batch(stub: dict[type, Any]) -> None:
    server = DALIServer(sums())
    made = [server.proxy(left=1.0, right=number)[0] for number in (0.0, 5.0)]
    collate = stub[calls.DALIOutputSampleRef]
    forward, backward = collate(made), collate(made[::-1])
    assert server.produce_data([backward, forward])[0].tolist() == [6, 1]
    assert server.produce_data(forward).tolist() == [1, 6]


def test_what_is_in_no_batch(stub: dict[type, Any]) -> None:
    server = DALIServer(sums())
    total, difference = server.proxy(left=[1, 2], right=[3, 5])
    assert server.produce_data(total).tolist() == [4, 7]
    assert server.produce_data(pickle.loads(pickle.dumps(difference))).tolist() == [-2, -3]


def numbers(count: int, asked: list[int]) -> Iterator[int]:
    for number in range(count):
        asked.append(number)
        yield number
    raise OSError("the iterator broke")


def halved(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_errors_come_in_their_places() -> None:
    loop = Ahead(numbers(3, []), halved, 2)
    assert next(loop) == 0
    with pytest.raises(ValueError, match="1 is odd"):
        next(loop)
    assert next(loop) == 1
    with pytest.raises(OSError, match="broke"):
        next(loop)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(loop)


def test_no_more_is_made_ahead_than_asked() -> None:
    asked: list[int] = []
    made = threading.Semaphore(0)

    def noted(number: int) -> int:
        made.release()
        return number

    loop = Ahead(numbers(100, asked), noted, 3)
    for _ in range(3):
        assert made.acquire(timeout=20)
    assert asked == [0, 1, 2]
    assert next(loop) == 0
    assert made.acquire(timeout=20)
    assert asked == [0, 1, 2, 3]
    loop.close()
    assert len(asked) <= 4
    assert list(loop) == [1, 2, 3]


def test_a_loop_that_nobody_holds_ends_its_thread() -> None:
    asked: list[int] = []
    loop = Ahead(numbers(1000, asked), lambda number: number * 2, 3)
    assert [next(loop), next(loop)] == [0, 2]
    thread = loop._thread
    del loop
    thread.join(20)
    assert not thread.is_alive()
    assert len(asked) <= 6
