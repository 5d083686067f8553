"""Pipelines: how they are defined and run."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def

pytestmark = pytest.mark.core


def numbers(info: Any) -> Any:
    return np.array([info.idx_in_epoch], np.int32)


def first(pipe: Pipeline) -> list[int]:
    return [int(sample.item()) for sample in pipe.run()[0]]


def test_with_and_without_arguments() -> None:
    @pipeline_def
    def plain(step: int) -> Any:
        return fn.external_source(source=numbers, batch=False) * step

    @pipeline_def(batch_size=2, num_threads=1)
    def fixed(step: int = 3) -> Any:
        return fn.external_source(source=numbers, batch=False) * step

    assert first(plain(2, batch_size=3)) == [0, 2, 4]
    assert first(fixed()) == [0, 3]
    pipe = fixed(step=5, batch_size=4, num_threads=2)
    assert first(pipe) == [0, 5, 10, 15]
    assert (pipe.batch_size, pipe.num_threads, pipe.device_id) == (4, 2, None)
    assert fixed.__name__ == "fixed"


def test_an_argument_of_the_function_hides_one_of_the_pipeline() -> None:
    @pipeline_def(batch_size=2, seed=7)
    def shadowed(seed: int) -> Any:
        return fn.external_source(source=numbers, batch=False) + seed

    pipe = shadowed(seed=10)
    assert first(pipe) == [10, 11]
    assert pipe.seed == 7


@pytest.mark.parametrize("conditionals", [False, True])
def test_open_arguments(conditionals: bool) -> None:
    """Names of the pipeline's arguments are its own, all others the function's."""
    given: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> Any:
        given[:] = [args, kwargs]
        return fn.external_source(source=numbers, batch=False) * args[0]

    loose = pipeline_def(batch_size=2, enable_conditionals=conditionals)(note)
    assert first(loose(3, 4, seed=5, step=6, args=7, kwargs=8)) == [0, 3]
    assert given == [(3, 4), {"step": 6, "args": 7, "kwargs": 8}]
    pipe = loose(2, batch_size=3, num_threads=2, debug=False, enable_conditionals=False)
    assert (first(pipe), pipe.num_threads, given[1]) == ([0, 2, 4], 2, {})

    @pipeline_def(batch_size=2, enable_conditionals=conditionals)
    def hides(step: int, /, *, seed: int = 1, **more: Any) -> Any:
        given[:] = [step, seed, more]
        return fn.external_source(source=numbers, batch=False)

    pipe = hides(3, seed=9, step=4, prefetch_queue_depth=1)
    assert (given, pipe.seed != 9) == ([3, 9, {"step": 4}], True)


@pytest.mark.parametrize("conditionals", [False, True])
def test_callables_without_a_name(conditionals: bool) -> None:
    class Times:
        options = function = "of the object's own"

        def __init__(self) -> None:
            self.options = self.function = "of the object's own"

        def __call__(self, factor: int, plus: int = 1) -> Any:
            return fn.external_source(source=numbers, batch=False) * factor + plus

        def method(self, factor: int) -> Any:
            return self(factor)

    define = pipeline_def(batch_size=2, enable_conditionals=conditionals)
    for made, arguments in (
        (define(Times()), (3,)),
        (define(functools.partial(Times(), 3)), ()),
        (define(functools.partial(Times(), plus=1)), (3,)),
        (define(Times().method), (3,)),
    ):
        assert first(made(*arguments)) == [1, 4]
        assert made.__name__ in ("Times", "partial", "method")


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"no argument `batchsize`; did you mean `batch_size`\?"):
        pipeline_def(batchsize=3)(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="argument `batch_size`"):
        pipeline_def(num_threads=1)(lambda: np.zeros(3))().build()
    with pytest.raises(TypeError, match="has no outputs"):
        Pipeline(batch_size=1).run()
    with pytest.raises(TypeError, match="must return its outputs"):
        pipeline_def(batch_size=1)(lambda: None)()
    with pytest.raises(TypeError, match="expected a function"):
        pipeline_def(3)  # type: ignore[call-overload]


def test_by_hand_and_by_subclass() -> None:
    pipe = Pipeline(batch_size=2)
    with pipe:
        source = fn.external_source(source=numbers, batch=False)
        pipe.set_outputs(source + 1, source)
    pipe.build()
    assert first(pipe) == [1, 2]
    with pytest.raises(TypeError, match="its graph is fixed"), pipe:
        pass

    class Mine(Pipeline):
        def define_graph(self) -> Any:
            return fn.external_source(source=numbers, batch=False) - 1

    assert first(Mine(batch_size=2)) == [-1, 0]


def test_constants_as_outputs_and_inputs() -> None:
    @pipeline_def(batch_size=3)
    def program() -> Any:
        source = fn.external_source(source=numbers, batch=False)
        return source + np.array([1, 2], np.int32), np.array([1, 2, 3], np.float32), 5

    total, vector, scalar = program().run()
    assert total.at(2).tolist() == [3, 4]
    assert vector.shape == [(3,)] * 3
    assert [int(sample.item()) for sample in scalar] == [5, 5, 5]


def test_end_of_data_and_reset() -> None:
    @pipeline_def(batch_size=2, prefetch_queue_depth=3)
    def program() -> Any:
        return fn.external_source(source=[np.full((2, 1), i) for i in range(3)], cycle="raise")

    pipe = program()
    for _ in range(3):
        assert [int(batch.at(0)[0]) for (batch,) in pipe] == [0, 1, 2]
    for _ in range(3):
        pipe.run()
    for _ in range(3):
        with pytest.raises(StopIteration):
            pipe.run()
    pipe.reset()
    assert first(pipe) == [0, 0]
    pipe.close()


def test_smaller_batches() -> None:
    sizes = [3, 1, 2]

    @pipeline_def(batch_size=3, seed=1)
    def program() -> Any:
        source = fn.external_source(source=[np.zeros((n, 1)) for n in sizes])
        return source, fn.random.uniform()

    for size, (batch, values) in zip(sizes, program(), strict=True):
        assert len(batch) == len(values) == size


def test_sources_must_agree_on_the_size() -> None:
    @pipeline_def(batch_size=3)
    def program() -> Any:
        one = fn.external_source(source=lambda: np.zeros((3, 1)))
        two = fn.external_source(source=lambda: np.zeros((2, 1)))
        return one, two

    with pytest.raises(ValueError, match="batches of one size"):
        program().run()


def test_num_outputs() -> None:
    @pipeline_def(batch_size=2)
    def program() -> Any:
        one, two = fn.external_source(
            source=lambda info: (np.array([info.idx_in_batch], np.uint8), np.ones(1, np.float32)),
            num_outputs=2,
            batch=False,
            dtype=[gradiva.uint8, gradiva.float32],
        )
        (single,) = fn.external_source(source=lambda: (np.zeros((2, 1)),), num_outputs=1)
        return one, two, single

    one, two, _single = program().run()
    assert (one.dtype, two.dtype) == (gradiva.uint8, gradiva.float32)
    assert one.at(1)[0] == 1


@pytest.mark.parametrize(("threads", "ahead"), [(1, 3), (2, 4)])
def test_prefetching_runs_ahead_as_far_as_asked(threads: int, ahead: int) -> None:
    """As many batches as the queue holds; and one more, where two are made at a time."""
    made = []

    def source() -> Any:
        made.append(threading.current_thread().name)
        return np.zeros((1, 1))

    @pipeline_def(batch_size=1, prefetch_queue_depth=3, num_threads=threads)
    def program() -> Any:
        return fn.external_source(source=source)

    pipe = program()
    pipe.build()
    assert not made
    assert pipe.empty()
    pipe.run()
    deadline = time.monotonic() + 5
    while len(made) <= ahead and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(made) == 1 + ahead
    assert not pipe.empty()
    assert set(made) == {"gradiva-scheduler"}
    pipe.close()


def test_metadata(photographs: Path) -> None:
    @pipeline_def(batch_size=2)
    def program() -> Any:
        one, _ = fn.readers.file(
            file_root=str(photographs), name="one", num_shards=2, pad_last_batch=True
        )
        two, _ = fn.readers.file(file_root=str(photographs), num_shards=2)
        return one, two

    pipe = program()
    assert pipe.epoch_size() == {"one": 8, "readers.file": 7}
    assert pipe.epoch_size("one") == 8
    meta = pipe.reader_meta("one")
    assert (meta["epoch_size"], meta["epoch_size_padded"]) == (7, 8)
    assert meta["number_of_shards"] == 2
    assert pipe.reader_meta("readers.file")["epoch_size_padded"] == 7
    with pytest.raises(ValueError, match="the name of a reader"):
        pipe.epoch_size("three")


def test_seed_of_dynamic_mode_is_the_default(photographs: Path) -> None:
    def order(pipe: Pipeline) -> list[str]:
        return list(pipe.run()[0].source_info())

    @pipeline_def(batch_size=7)
    def program() -> Any:
        files, _ = fn.readers.file(file_root=str(photographs), random_shuffle=True)
        return files

    gradiva.random.set_seed(3)
    reader = gradiva.readers.File(file_root=str(photographs), random_shuffle=True)
    (files, _) = next(iter(reader.next_epoch(batch_size=7)))
    assert order(program()) == files.source_info() == order(program(seed=3))
    assert order(program(seed=4)) != files.source_info()


def test_an_eager_call_inside_a_definition_is_an_error(photographs: Path) -> None:
    reader = gradiva.readers.File(file_root=str(photographs))

    @pipeline_def(batch_size=2)
    def program() -> Any:
        for files, _ in reader.next_epoch(batch_size=2):
            return gradiva.decoders.image(files)
        return None

    with pytest.raises(TypeError, match=r"use fn.readers.file"):
        program()
