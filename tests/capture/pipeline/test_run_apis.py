"""The ways to run a pipeline: run, scheduled calls, feeding by hand; and what does not mix."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def, types

DEPTHS = [{"prefetch_queue_depth": 1}, {"prefetch_queue_depth": 3}, {"exec_async": False}]


def counted(value: float, shape: tuple[int, ...] = (2, 3)) -> np.ndarray[Any, Any]:
    return np.full((2, *shape), value, np.uint8)


@pipeline_def(batch_size=2, num_threads=2)
def fed(blocking: bool = False, repeat_last: bool = False) -> Any:
    return fn.external_source(name="x", blocking=blocking, repeat_last=repeat_last) + 1


@pipeline_def(batch_size=2, num_threads=2)
def counting(end: int = 1000) -> Any:
    return fn.external_source(counted(n) for n in range(end))


def first(outputs: Any) -> int:
    return int(outputs[0].as_array()[0, 0, 0])


@pytest.mark.parametrize("options", DEPTHS)
def test_feed_one_batch_for_each_run(options: dict[str, Any]) -> None:
    pipe = fed(**options)
    for n in range(6):
        pipe.feed_input("x", counted(n))
        assert first(pipe.run()) == n + 1


@pytest.mark.parametrize("options", DEPTHS)
def test_feed_ahead(options: dict[str, Any]) -> None:
    pipe = fed(**options)
    for n in range(pipe.input_feed_count("x") + 2):
        pipe.feed_input("x", counted(n))
    assert [first(pipe.run()) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("options", DEPTHS)
def test_inputs_by_name(options: dict[str, Any]) -> None:
    pipe = fed(**options)
    assert [first(pipe.run(x=counted(n))) for n in (3, 9, 4)] == [4, 10, 5]
    with pytest.raises(ValueError, match=r"the name of an external source .*'x'.*got 'y'"):
        pipe.run(y=counted(1))
    assert first(pipe.run(x=counted(7))) == 8


@pytest.mark.parametrize("options", DEPTHS)
def test_nothing_was_fed(options: dict[str, Any]) -> None:
    """An error, not a hang; and the next batch is made as if nothing had happened."""
    pipe = fed(**options)
    for n in range(3):
        with pytest.raises(RuntimeError, match="there is no data for this batch: call feed_input"):
            pipe.run()
        pipe.feed_input("x", counted(n))
        pipe.feed_input("x", counted(n + 10))
        assert first(pipe.run()) == n + 1
        assert first(pipe.run()) == n + 11


@pytest.mark.full
@pytest.mark.parametrize("options", DEPTHS)
def test_blocking_waits_for_a_thread_that_feeds(options: dict[str, Any]) -> None:
    pipe = fed(True, **options)
    pipe.build()

    def feed() -> None:
        for n in range(3):
            time.sleep(0.05)
            pipe.feed_input("x", counted(n))

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert [first(pipe.run()) for _ in range(3)] == [1, 2, 3]
    feeder.join()
    started = time.monotonic()
    pipe.close()
    assert time.monotonic() - started < 30  # and not for ever


@pytest.mark.parametrize("options", DEPTHS)
def test_the_last_batch_is_repeated_where_nothing_is_fed(options: dict[str, Any]) -> None:
    pipe = fed(repeat_last=True, **options)
    pipe.feed_input("x", counted(4))
    assert [first(pipe.run()) for _ in range(3)] == [5, 5, 5]
    pipe.feed_input("x", counted(6))
    assert 7 in [first(pipe.run()) for _ in range(4)]


class Torchlike:
    """An array that has nothing but DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "data",
    [
        counted(3),
        list(counted(3)),
        [Torchlike(sample) for sample in counted(3)],
        Torchlike(counted(3)),
        gradiva.batch(counted(3)),
        gradiva.tensors.TensorListCPU(counted(3)),
        [gradiva.tensors.TensorCPU(sample) for sample in counted(3)],
    ],
)
def test_forms_of_fed_data(data: Any) -> None:
    pipe = fed()
    pipe.feed_input("x", data)
    np.testing.assert_array_equal(pipe.run()[0].as_array(), counted(4))


def test_ragged_and_small_batches_and_layouts() -> None:
    @pipeline_def(batch_size=3, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(name="x", layout="HW")

    made = pipe()
    made.feed_input("x", [np.zeros((2, 3)), np.zeros((4, 1))])
    with pytest.raises(gradiva.OperatorTypeError, match="another layout"):
        made.feed_input("x", np.zeros((1, 2, 2)), layout="AB")
    made.feed_input("x", np.zeros((1, 2, 2)))
    with pytest.raises(gradiva.OperatorTypeError, match="another layout"):
        made.feed_input("x", gradiva.batch(np.zeros((3, 2, 2)), layout="CD"), layout=None)
    made.feed_input("x", gradiva.batch(np.zeros((3, 2, 2)), layout="HW"), layout=None)
    outputs = [made.run()[0] for _ in range(3)]
    assert [output.shape() for output in outputs] == [[(2, 3), (4, 1)], [(2, 2)], [(2, 2)] * 3]
    assert [output.layout() for output in outputs] == ["HW", "HW", "HW"]


def test_fed_data_are_a_copy() -> None:
    pipe = fed(prefetch_queue_depth=1)
    given = counted(1)
    pipe.feed_input("x", given)
    given[...] = 100
    assert first(pipe.run()) == 2


def test_refused_data_leave_nothing_behind() -> None:
    pipe = fed()
    pipe.feed_input("x", counted(1))
    for data, kind, words in [
        (np.zeros((3, 2, 3), np.uint8), ValueError, "at most 2 samples, got 3"),
        (counted(1).astype(np.float32), TypeError, "expected uint8, as in the first batch"),
        (counted(1)[0], TypeError, "another rank"),
        (3, TypeError, "expected a batch"),
        (["text"], TypeError, "another rank"),
    ]:
        with pytest.raises(kind, match=words):
            pipe.feed_input("x", data)
    pipe.feed_input("x", counted(2))
    assert [first(pipe.run()), first(pipe.run())] == [2, 3]
    for target, kind in [("nope", ValueError), (3, TypeError)]:
        with pytest.raises(kind, match="data_node"):
            pipe.feed_input(target, counted(1))


def test_feed_by_symbol_and_several_outputs() -> None:
    pipe = Pipeline(2, 1)
    with pipe:
        a, b = fn.external_source(num_outputs=2, name="pair")
        c = fn.external_source(name="c")
        pipe.set_outputs(a, b, c)
    pipe.feed_input(a, counted(1))
    pipe.feed_input("pair[1]", counted(2))
    pipe.feed_input(c, counted(3))
    assert [int(out.as_array()[0, 0, 0]) for out in pipe.run()] == [1, 2, 3]
    outputs = pipe.run(pair=(counted(4), counted(5)), c=counted(6))
    assert [int(out.as_array()[0, 0, 0]) for out in outputs] == [4, 5, 6]
    with pytest.raises(TypeError, match="'pair' has 2 outputs"):
        pipe.feed_input("pair", counted(1))
    with pytest.raises(ValueError, match=r"got 'pair\[2\]'"):
        pipe.feed_input("pair[2]", counted(1))
    other = Pipeline(2, 1)
    with other:
        computed = fn.external_source(name="c") + 1
        other.set_outputs(computed)
    with pytest.raises(ValueError, match="in this pipeline"):
        other.feed_input(computed, counted(1))


class Setup(Pipeline):
    """Feeds itself, five batches."""

    def __init__(self, **options: Any) -> None:
        super().__init__(2, 2, None, **options)
        self.fed = 0

    def define_graph(self) -> Any:
        self.source = fn.external_source()
        return self.source

    def iter_setup(self) -> None:
        if self.fed == 5:
            raise StopIteration
        self.feed_input(self.source, counted(self.fed))
        self.fed += 1


@pytest.mark.parametrize("options", DEPTHS)
def test_iter_setup(options: dict[str, Any]) -> None:
    pipe = Setup(**options)
    for _ in range(2):
        assert [first(batch) for batch in pipe] == [0, 1, 2, 3, 4]
        pipe.fed = 0
    for _ in range(5):
        pipe.run()
    for _ in range(2):
        with pytest.raises(StopIteration):
            pipe.run()


@pytest.mark.parametrize("options", DEPTHS)
def test_iter_setup_with_scheduled_calls(options: dict[str, Any]) -> None:
    pipe = Setup(**options)
    seen = []
    for _ in range(5):
        pipe.schedule_run()
        seen.append(first(pipe.outputs()))
    assert seen == [0, 1, 2, 3, 4]
    pipe.schedule_run()
    with pytest.raises(StopIteration):
        pipe.share_outputs()


@pytest.mark.parametrize("options", DEPTHS)
def test_scheduled_calls(options: dict[str, Any]) -> None:
    pipe = counting(5, **options)
    with pytest.raises(RuntimeError, match="call schedule_run before each share_outputs"):
        pipe.share_outputs()
    assert pipe.empty()
    pipe.schedule_run()
    pipe.schedule_run()
    assert not pipe.empty()
    assert [first(pipe.share_outputs()), first(pipe.share_outputs())] == [0, 1]
    assert pipe.empty()
    pipe.release_outputs()
    pipe.release_outputs()
    pipe.release_outputs()
    for n in (2, 3, 4):
        pipe.schedule_run()
        assert first(pipe.outputs()) == n
    pipe.schedule_run()
    with pytest.raises(StopIteration):
        pipe.share_outputs()
    assert pipe.empty()


@pytest.mark.parametrize("again", ["schedule_run", "_run", "_run_once"])
@pytest.mark.parametrize("options", DEPTHS)
def test_batches_that_were_prefetched(options: dict[str, Any], again: str) -> None:
    """As iterators do that people have written: the queue is filled, then each batch that is shared
    asks for another one."""
    for pipe in (counting(5, **options), Setup(**options)):
        pipe._prefetch()
        seen = [first(pipe.outputs())]
        assert pipe.empty() is (pipe.cpu_queue_size == 1)
        for _ in range(4):
            getattr(pipe, again)()
            seen.append(first(pipe.outputs()))
        assert seen == [0, 1, 2, 3, 4]
        getattr(pipe, again)()
        with pytest.raises(StopIteration):
            pipe.outputs()
        assert pipe.empty()
    pipe = counting(5, **options)
    pipe._prefetch()
    assert [first(pipe.share_outputs()) for _ in range(pipe.cpu_queue_size)] == list(
        range(pipe.cpu_queue_size)
    )
    with pytest.raises(RuntimeError, match="call schedule_run before each share_outputs"):
        pipe.share_outputs()


@pytest.mark.parametrize("options", DEPTHS)
def test_prefetched_and_run(options: dict[str, Any]) -> None:
    for pipe in (counting(5, **options), Setup(**options)):
        pipe._prefetch()
        assert [first(pipe.run()) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(StopIteration):
            pipe.run()


def test_ways_to_run_do_not_mix() -> None:
    pipe = counting()
    pipe.run()
    for call in (pipe.schedule_run, pipe.share_outputs, pipe.release_outputs, pipe.outputs):
        with pytest.raises(RuntimeError, match="the BASIC kind, as before, got one of the SCHED"):
            call()
    assert first(pipe.run()) == 1
    scheduled = counting()
    scheduled.schedule_run()
    with pytest.raises(RuntimeError, match="the SCHEDULED kind, as before, got one of the BASIC"):
        scheduled.run()
    scheduled.enable_api_check(False)
    assert first(scheduled.run()) == 0
    scheduled.schedule_run()
    assert first(scheduled.share_outputs()) == 1


def test_a_stream_needs_a_gpu() -> None:
    with pytest.raises(RuntimeError, match="is not available: "):
        counting().run(object())


def test_empty_tells_of_ready_batches() -> None:
    pipe = counting(3)
    assert pipe.empty()
    pipe.run()
    deadline = time.monotonic() + 10
    while pipe.empty() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not pipe.empty()


def test_pipeline_api_types_are_public() -> None:
    assert [kind.name for kind in types.PipelineAPIType] == ["BASIC", "ITERATOR", "SCHEDULED"]
