"""What a batcher takes and returns, and which requests share a batch."""

from __future__ import annotations

import inspect
import pickle
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradiva
from gradiva import capture
from gradiva.eager.values.batch import Batch
from gradiva.serve import Batcher, BatcherStats
from tests.gradiva.serve.gates import PATIENCE, Gate, busy

pytestmark = pytest.mark.core


class Pair(NamedTuple):
    """Two values that a function returns."""

    whole: Any
    first: Any


def same(batch: Batch) -> Batch:
    return batch


def prepare(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(20, 30))


def answers(function: Callable[..., Any], *requests: Any) -> list[Any]:
    """The results of requests that are all in one batch."""
    with busy(function, max_batch=len(requests)) as (batcher, gate, _):
        futures = [batcher.submit(*(one if isinstance(one, tuple) else (one,))) for one in requests]
        gate.open.set()
        found = [future.result(PATIENCE) for future in futures]
        assert gate.sizes == [1, len(requests)]
        return found


def test_results_are_the_samples_of_the_batch(photographs: Path) -> None:
    files = [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))[:5]]
    wanted = prepare(files)
    for function in (prepare, capture.compile(prepare)):
        found = answers(function, *files)
        assert all(isinstance(one, gradiva.Tensor) for one in found)
        assert {one.layout for one in found} == {"HWC"}
        for one, array in zip(found, wanted.arrays(), strict=True):
            np.testing.assert_array_equal(one, array)
        base = np.asarray(found[0])
        assert np.asarray(found[1]).ctypes.data == base.ctypes.data + base.nbytes  # one buffer


def test_from_many_threads() -> None:
    with Batcher(lambda batch: batch * 2) as batcher, ThreadPoolExecutor(8) as pool:
        assert [one.item() for one in pool.map(batcher, range(100))] == [*range(0, 200, 2)]
        told = batcher.stats()
    assert (told["requests"], told["done"], told["failed"]) == (100, 100, 0)
    assert told["batches"] * told["mean_batch_size"] == 100


def test_several_inputs() -> None:
    images = [np.full((2, 3, 1), 10 * k, np.uint8) for k in range(3)]
    found = answers(
        lambda image, shift: image + shift,
        *((image, np.uint8(k)) for k, image in enumerate(images)),
    )
    assert [int(np.asarray(one).max()) for one in found] == [0, 11, 22]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda batch: batch, [0, 1, 2]),
        (lambda batch: (batch, batch * 2), [(0, 0), (1, 2), (2, 4)]),
        (lambda batch: [batch, batch * 2], [[0, 0], [1, 2], [2, 4]]),
        (lambda batch: {"a": batch, "b": None}, [{"a": k, "b": None} for k in range(3)]),
        (lambda batch: Pair(batch, (batch,)), [Pair(k, (k,)) for k in range(3)]),
        (lambda batch: batch.as_array() + 1, [1, 2, 3]),
        (lambda batch: batch.as_array().tolist(), [0, 1, 2]),
        (lambda batch: [f"class {k}" for k in batch.as_array()], ["class 0", "class 1", "class 2"]),
        (gradiva.as_tensor, [0, 1, 2]),
        (lambda batch: {}, [{}, {}, {}]),
        (lambda batch: None, [None, None, None]),
        # Samples are found by their positions, not by their places.
        (lambda batch: batch.select([2, 0, 1]), [0, 1, 2]),
    ],
)
def test_what_a_function_may_return(function: Callable[..., Any], wanted: list[Any]) -> None:
    found = answers(function, 0, 1, 2)
    assert found == wanted
    assert [type(one) for one in found if isinstance(one, tuple)] == [
        type(one) for one in wanted if isinstance(one, tuple)
    ]


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    found = answers(lambda batch: torch.from_numpy(batch.as_array()) * 2, 0, 1, 2)
    assert [one.item() for one in found] == [0, 2, 4]
    (found,) = answers(same, torch.arange(3))
    assert found.torch().tolist() == [0, 1, 2]


def test_lazy_results_are_computed() -> None:
    def deferred(batch: Any) -> Any:
        with gradiva.EvalMode.deferred:
            return batch + 1

    assert [one.item() for one in answers(deferred, 0, 1)] == [1, 2]


@pytest.mark.parametrize("value", [7, "text", b"bytes", (), object()])
def test_what_a_function_may_not_return(value: Any) -> None:
    raises = pytest.raises(gradiva.OperatorTypeError, match="a row for each sample")
    with Batcher(lambda batch: value) as batcher, raises:
        batcher(0)


@pytest.mark.parametrize(
    "function",
    [
        lambda batch: batch.as_array()[:0],
        lambda batch: [1, 2],
        lambda batch: batch.select([0, 0]),
        lambda batch: np.zeros((2, 2)),
    ],
)
def test_another_number_of_rows(function: Callable[..., Any]) -> None:
    with Batcher(function) as batcher, pytest.raises(ValueError, match="expected 1 rows, got"):
        batcher(0)


def test_requests_of_other_types_run_in_other_batches() -> None:
    """Each batch has the type of the oldest request, and the order among its type stays."""
    seen: list[tuple[str, str, list[Any]]] = []

    def note(batch: Batch) -> Batch:
        seen.append((batch.dtype.name, batch.layout, [one.shape for one in batch]))
        return batch

    image = gradiva.as_tensor(np.zeros((2, 2, 1), np.uint8), layout="HWC")
    requests = [b"abc", 1.5, image, b"de", 2.5, np.zeros((2, 2, 1), np.uint8)]
    with busy(note, max_batch=8) as (batcher, gate, _):
        futures = [batcher.submit(one) for one in requests]
        gate.open.set()
        for future in futures:
            future.result(PATIENCE)
    assert seen[1:] == [
        ("uint8", "", [(3,), (2,)]),
        ("float32", "", [(), ()]),
        ("uint8", "HWC", [(2, 2, 1)]),
        ("uint8", "", [(2, 2, 1)]),
    ]


def test_batches_are_full_and_in_order() -> None:
    with busy(max_batch=4) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(10)]
        gate.open.set()
        assert [future.result(PATIENCE).item() for future in futures] == [*range(10)]
        assert gate.sizes == [1, 4, 4, 2]


def test_several_runners() -> None:
    gate = Gate()
    with Batcher(gate, runners=3) as batcher:
        futures = []
        for k in range(3):
            futures.append(batcher.submit(k))
            gate.wait()  # while the others run
        assert batcher.stats()["running"] == 3
        gate.open.set()
        assert [future.result(PATIENCE).item() for future in futures] == [0, 1, 2]


def test_a_wait_ends_when_the_batch_is_full() -> None:
    """The wait would take an hour."""
    gate = Gate(opened=True)
    with Batcher(gate, max_batch=3, max_delay_ms=3.6e6, adaptive=False) as batcher:
        futures = [batcher.submit(k) for k in range(3)]
        assert [future.result(PATIENCE).item() for future in futures] == [0, 1, 2]
    assert gate.sizes == [3]


def test_an_idle_batcher_does_not_wait() -> None:
    """It has measured that a batch saves nothing."""
    with Batcher(same, max_delay_ms=3.6e6) as batcher:
        for k in range(5):
            assert batcher(k).item() == k


def test_random_values_belong_to_requests() -> None:
    """They do not depend on the batches in which requests run."""

    def noise(batch: Any) -> Any:
        return gradiva.random.uniform(batch_size=batch.batch_size) + 0 * batch

    def drawn(size: int) -> list[float]:
        gradiva.random.set_seed(7)
        with Batcher(noise, max_batch=size, max_delay_ms=3.6e6, adaptive=False) as batcher:
            futures = [batcher.submit(np.float32(k)) for k in range(6)]
            return [float(future.result(PATIENCE)) for future in futures]

    assert drawn(1) == drawn(2) == drawn(3)
    assert len({*drawn(2)}) == 6


def test_the_function_has_a_context_of_its_own() -> None:
    """What it leaves set is not seen by the next batch."""
    seen = []

    def careless(batch: Any) -> Any:
        seen.append(gradiva.EvalMode.current())
        gradiva.EvalMode.deferred.__enter__()
        return batch

    with Batcher(careless) as batcher:
        batcher(0)
        batcher(1)
    assert seen == [gradiva.EvalMode.eager] * 2


def test_warm_up() -> None:
    """Batches of one and of `max_batch` samples, in this thread; no request is counted."""
    seen: list[tuple[int, bool]] = []

    def note(batch: Batch) -> Batch:
        seen.append((len(batch), threading.current_thread() is threading.main_thread()))
        return batch

    with Batcher(note, max_batch=5) as batcher:
        batcher.warm_up(np.zeros(3))
        told = batcher.stats()
        assert seen == [(1, True), (1, True), (5, True), (5, True)]
        assert told["requests"] == 0
        assert {*told["batch_ms"]} == {1, 5}
        with pytest.raises(gradiva.OperatorTypeError):
            batcher.warm_up()

    def wrong(batch: Batch) -> Batch:
        raise KeyError("of the user")

    with Batcher(wrong) as batcher, pytest.raises(KeyError, match="of the user"):
        batcher.warm_up(0)


def test_statistics() -> None:
    with busy(max_batch=4, max_queue=3) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(3)]
        with pytest.raises(gradiva.serve.Overloaded):
            batcher(0)
        futures[1].cancel()
        told = batcher.stats()
        assert isinstance(told, BatcherStats)
        assert (told["requests"], told["refused"], told["canceled"]) == (5, 1, 1)
        assert (told["queued"], told["running"], told["batches"]) == (2, 1, 0)
        assert repr(batcher).endswith("2 queued, 1 running>")
        gate.open.set()
        futures[2].result(PATIENCE)
        told = batcher.stats()
    assert (told["done"], told["batches"], told["calls"], told["mean_batch_size"]) == (3, 2, 2, 1.5)
    assert told["latency_ms"]["p50"] <= told["latency_ms"]["p99"]
    html = told._repr_html_()
    assert html.startswith("<p>batcher</p><table>")
    assert ">mean batch size</td>" in html
    assert "mean batch size: 1.5\n" in str(told)


def test_the_example(photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the docstring, with the value behind it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").symlink_to(photographs, target_is_directory=True)
    example = inspect.cleandoc(Batcher.__doc__ or "").partition("\nExample:\n")[2]
    code = textwrap.dedent(example)
    line = next(line for line in code.splitlines() if "#" in line)
    call, _, shape = line.partition("  # ")
    names: dict[str, Any] = {"gradiva": gradiva, "Path": Path}
    exec(code.replace(line, call.replace("batcher(", "found = batcher(", 1)), names)
    assert str(names["found"]) == shape


def test_the_state_of_a_closed_one() -> None:
    batcher = Batcher(same)
    assert not batcher.closed
    assert batcher.close()
    assert repr(batcher) == "<Batcher of same, closed>"


def test_pickling() -> None:
    batcher = Batcher(same, max_batch=3, deadline_ms=70_000)
    other = pickle.loads(pickle.dumps(batcher))
    assert other.fn is same
    assert other._engine.settings == batcher._engine.settings
    assert other.deadline_ms == 70_000
    with other:
        assert other(3).item() == 3


async def coroutine(batch: Batch) -> Batch:
    return batch


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fn": coroutine}, "`fn`: expected a function of batches, no coroutine"),
        ({"fn": 3}, "`fn`: expected a function of batches, no coroutine, got 3"),
        ({"max_batch": 0}, "`max_batch`: expected at least 1, got 0"),
        ({"max_batch": 1.5}, "`max_batch`: expected an integer"),
        ({"max_delay_ms": -1}, "`max_delay_ms`: expected at least 0, got -1"),
        ({"max_delay_ms": "soon"}, "`max_delay_ms`: expected a number of milliseconds"),
        ({"deadline_ms": 0}, "`deadline_ms`: expected more than 0, got 0"),
        ({"deadline_ms": float("nan")}, "`deadline_ms`: expected more than 0, got nan"),
        ({"max_queue": 0}, "`max_queue`: expected at least 1"),
        ({"runners": 0}, "`runners`: expected at least 1"),
        ({"block": 1}, "`block`: expected True or False, got 1"),
        ({"adaptive": None}, "`adaptive`: expected True or False"),
        ({"isolate": "no"}, "`isolate`: expected True or False"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((gradiva.OperatorTypeError, gradiva.OperatorValueError)) as caught:
        Batcher(**{"fn": same, **options})
    assert f"Batcher: argument {message}" in str(caught.value)
    assert "test_batcher.py" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((), "expected a sample for each input of the function, got nothing"),
        ((object(),), "input 0; expected an array"),
        ((1, np.array(["text"])), "input 1: "),
        ((gradiva.as_batch([[1], [2]]),), "input 0: a request is one sample"),
    ],
)
def test_wrong_requests(data: tuple[Any, ...], message: str) -> None:
    """They fail at once, before they are in a batch."""
    with Batcher(same) as batcher:
        for call in (batcher, batcher.submit):
            with pytest.raises(gradiva.OperatorTypeError, match=message) as caught:
                call(*data)
            assert "test_batcher.py" in str(caught.value)
        assert batcher.stats()["requests"] == 0
        with pytest.raises(gradiva.OperatorTypeError, match="`deadline_ms`"):
            batcher(1, deadline_ms="soon")  # type: ignore[arg-type]
