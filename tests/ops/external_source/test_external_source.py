"""`external_source` and `ExternalSource`: callables, iterables, per batch and per sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import ExternalSource, fn, pipeline_def, types
from gradiva.ops.external_source.callback_source import CallbackIterator


def values(source: Any, batches: int = 3, size: int = 2, **options: Any) -> list[list[float]]:
    @gradiva.pipeline_def(batch_size=size, num_threads=2)
    def program() -> Any:
        return fn.external_source(source, **options)

    pipe = program()
    found = [[float(s.item()) for s in pipe.run()[0]] for _ in range(batches)]
    pipe.close()
    return found


def test_forms_of_a_source() -> None:
    expected = [[0, 0], [1, 1], [2, 2]]
    rows = [np.full((2, 1), i, np.float32) for i in range(3)]

    def generator() -> Iterator[Any]:
        yield from rows

    class Countdown:
        def __init__(self) -> None:
            self.left = iter(rows)

        def __call__(self) -> Any:
            return next(self.left)

    assert values(rows) == expected
    assert values(iter(rows)) == expected
    assert values(generator) == expected
    assert values(Countdown()) == expected
    assert values(lambda index: np.full((2, 1), index)) == expected
    assert values(lambda info: np.full((2, 1), info.iteration), batch_info=True) == expected
    assert values([[row[0], row[1]] for row in rows]) == expected
    assert values([gradiva.as_batch(row) for row in rows]) == expected


def test_per_sample() -> None:
    seen: list[types.SampleInfo] = []

    def source(info: types.SampleInfo) -> Any:
        seen.append(info)
        return np.array([info.idx_in_epoch], np.float32)

    assert values(source, batch=False) == [[0, 1], [2, 3], [4, 5]]
    assert [info.idx_in_batch for info in seen[:4]] == [0, 1, 0, 1]
    assert [info.iteration for info in seen[:4]] == [0, 0, 1, 1]
    assert values([np.full(1, i) for i in range(6)], batch=False) == [[0, 1], [2, 3], [4, 5]]


def test_the_rest_of_an_iterable_of_samples_is_a_smaller_batch() -> None:
    @gradiva.pipeline_def(batch_size=2)
    def program() -> Any:
        return fn.external_source([np.full(1, i) for i in range(5)], batch=False)

    assert [len(batch) for (batch,) in program()] == [2, 2, 1]


def test_cycles() -> None:
    rows = [np.full((2, 1), i) for i in range(2)]
    assert values(rows, 5, cycle="quiet") == values(rows, 5, cycle=True)
    assert values(rows, 5, cycle="quiet")[4] == [0, 0]
    with pytest.raises(StopIteration):
        values(rows, 3)
    with pytest.raises(StopIteration):
        values(rows, 3, cycle="raise")
    assert values(rows, 4, repeat_last=True)[2:] == [[1, 1], [1, 1]]
    with pytest.raises(TypeError, match="a callable cannot be cycled"):
        values(lambda: rows[0], cycle=True)
    with pytest.raises(TypeError, match="cannot be started again"):
        values(iter(rows), 3, cycle=True)
    with pytest.raises(TypeError, match="`cycle`"):
        values(rows, cycle="sometimes")


def test_epochs_are_counted() -> None:
    seen: list[tuple[int, int]] = []

    def source(info: types.BatchInfo) -> Any:
        if info.iteration == 2:
            raise StopIteration
        seen.append((info.epoch_idx, info.iteration))
        return np.zeros((2, 1))

    @gradiva.pipeline_def(batch_size=2)
    def program() -> Any:
        return fn.external_source(source, batch_info=True)

    pipe = program()
    assert [len(list(pipe)) for _ in range(2)] == [2, 2]
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_copies_and_layouts() -> None:
    array = np.zeros((2, 3, 3, 1), np.uint8)

    def outputs(**options: Any) -> Any:
        @gradiva.pipeline_def(batch_size=2, exec_async=False)
        def program() -> Any:
            return fn.external_source(lambda: array, layout="HWC", **options)

        return program().run()[0]

    assert outputs().layout == "HWC"
    assert not np.shares_memory(outputs().data, array)
    assert np.shares_memory(outputs(no_copy=True).data, array)
    given = gradiva.as_batch(array, layout="HWC")
    array_owner = gradiva.pipeline_def(batch_size=2)(lambda: fn.external_source(lambda: given))
    assert array_owner().run()[0].layout == "HWC"
    assert given.provenance is None


def test_declarations() -> None:
    zeros = [np.zeros((2, 3), np.float32)]
    assert values([np.zeros((2, 1), np.float32)], 1, dtype=types.FLOAT, ndim=1) == [[0, 0]]
    with pytest.raises(TypeError, match="another rank"):
        values(zeros, 1, ndim=2)
    with pytest.raises(ValueError, match="2 letters"):
        values(zeros, 1, ndim=2, layout="ABC")
    with pytest.raises(ValueError, match="one, or one for each of 2 outputs"):
        values(zeros, 1, num_outputs=2, layout=["A", "B", "C"])
    with pytest.raises(TypeError, match="`dtype`"):
        values(zeros, 1, dtype="uint7x")
    with pytest.raises(TypeError, match="0 or 1 positional"):
        values(lambda a, b: zeros)
    with pytest.raises(TypeError, match="a callable or an iterable"):
        values(3)
    with pytest.raises(RuntimeError, match="there is no data for this batch: call feed_input"):
        values(None)


def test_dynamic_mode() -> None:
    source = ExternalSource([np.full((2, 2), i) for i in range(3)], layout="HW", cycle="raise")
    single = source()
    assert isinstance(single, gradiva.Tensor)
    assert single.layout == "HW"
    batch = source(batch_size=3)
    assert batch.shape == [(2, 2)] * 3
    source()
    with pytest.raises(StopIteration):
        source()
    assert int(source()[0, 0].item()) == 0
    pair = ExternalSource(lambda: ([np.zeros(2), np.ones(3)], np.ones(1)), num_outputs=2)
    one, two = pair()
    assert isinstance(one, gradiva.Batch)
    assert isinstance(two, gradiva.Tensor)
    with pytest.raises(RuntimeError, match=r"(?s)ExternalSource: .*ZeroDivisionError"):
        ExternalSource(lambda: 1 / 0)()


def test_dynamic_mode_agrees_with_a_pipeline() -> None:
    def source() -> Any:
        return [np.zeros((2, 2, 3), np.uint8)] * 3

    def work(images: Any) -> Any:
        noise = gradiva.random.uniform(images, range=(0, 255))
        return gradiva.cast(images + noise, dtype=gradiva.uint8)

    gradiva.random.set_seed(8)
    eager = ExternalSource(source, layout="HWC")
    left = [work(eager()).as_array() for _ in range(3)]

    @gradiva.pipeline_def(batch_size=3, seed=8)
    def program() -> Any:
        return work(fn.external_source(source, layout="HWC"))

    pipe = program()
    for expected in left:
        np.testing.assert_array_equal(pipe.run()[0].as_array(), expected)
    pipe.close()


class Restarting:
    """An iterable as scripts write it: it is its own iterator, and starts anew in `__iter__`."""

    def __iter__(self) -> Restarting:
        self.number = 0
        return self

    def __next__(self) -> Any:
        if self.number == 2:
            raise StopIteration
        self.number += 1
        return np.full((2, 1), self.number)


class Used(Restarting):
    """Its own iterator, which does not start anew."""

    number = 0

    def __iter__(self) -> Restarting:
        return self


def test_an_iterator_that_starts_anew_is_cycled() -> None:
    assert values(Restarting(), 5, cycle="quiet") == [[1, 1], [2, 2], [1, 1], [2, 2], [1, 1]]
    with pytest.raises(TypeError, match="cannot be started again"):
        values(Used(), 3, cycle="quiet")
    fed = CallbackIterator(Restarting(), "raise")
    for _ in range(3):
        assert [fed.next(None)[0, 0] for _ in range(2)] == [1, 2]
        with pytest.raises(StopIteration):
            fed.next(None)
        fed.restart()
    once = CallbackIterator(iter([1]), "raise")
    assert once.next(None) == 1
    with pytest.raises(StopIteration):
        once.next(None)
    with pytest.raises(TypeError, match="cannot be started again"):
        once.restart()


@pytest.mark.parametrize("cycle", [True, "quiet", "raise"])
def test_a_generator_that_is_to_be_cycled_is_refused_where_that_is_written(cycle: Any) -> None:
    rows = (np.full((2, 1), number) for number in range(2))
    with pytest.raises(TypeError, match="cannot be started again"):
        fn.external_source(rows, cycle=cycle)
    fn.external_source(rows, cycle=False)


@pytest.mark.parametrize("batch", [True, False])
def test_an_array_with_an_axis_of_outputs(batch: bool) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        whole = np.arange(8.0).reshape(2, 2, 2)
        return fn.external_source(lambda: whole if batch else whole[0], num_outputs=2, batch=batch)

    left, right = (np.asarray(output.as_array()).tolist() for output in pipe().run())
    assert left == ([[0, 1], [2, 3]] if batch else [[0, 1], [0, 1]])
    assert right == ([[4, 5], [6, 7]] if batch else [[2, 3], [2, 3]])


def test_single_samples_are_repeated_with_a_warning() -> None:
    rows = [np.full(3, number, np.uint8) for number in range(3)]
    with pytest.warns(
        UserWarning, match="an item that is one sample is repeated `batch_size` times"
    ):
        found = [one.as_array()[:, 0].tolist() for one in ExternalSource(rows).captured(2)]
    assert found == [[0, 0], [1, 1], [2, 2]]
    # Warnings are errors here.
    assert ExternalSource(rows)(batch_size=2).as_array()[:, 0].tolist() == [0, 0]
    assert len(list(ExternalSource(rows).captured(1))) == 3
    assert len(list(ExternalSource([rows[:2], rows[1:]]).captured(2))) == 2
    assert ExternalSource(rows)().shape == (3,)
    shared = ExternalSource([(rows[:2], rows[0])], num_outputs=2)
    assert [len(one) for one in shared(batch_size=2)] == [2, 2]
