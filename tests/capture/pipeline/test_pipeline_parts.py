"""The parts behind `Pipeline`: options, definition, runtime, scheduled runs."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.pipeline.options import PipelineOptions
from gradiva.eager.runtime.finalizer_thread import finalizer_thread

pytestmark = pytest.mark.core


@pipeline_def(batch_size=2, num_threads=1)
def numbers() -> Any:
    return fn.external_source(lambda info: np.array([info.idx_in_epoch]), batch=False)


def test_options_are_frozen_and_know_what_was_given() -> None:
    options = Pipeline(batch_size=3)._options
    assert isinstance(options, PipelineOptions)
    assert not options.num_threads_given
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.batch_size = 4  # type: ignore[misc]
    stored = options.with_stored(7, 5)
    assert (stored.batch_size, stored.num_threads) == (3, 5)
    assert stored.with_stored(-1, 6).num_threads == 5


def test_attributes_and_methods_are_described() -> None:
    for name, value in vars(Pipeline).items():
        if not name.startswith("_"):
            assert "attrgetter" not in (value.__doc__ or "attrgetter"), name
    assert Pipeline.__mro__ == (Pipeline, object)
    pipe = Pipeline(batch_size=3, num_threads=2, seed=7)
    assert (pipe.num_threads, pipe.seed, pipe.cpu_queue_size) == (2, 7, 2)
    with pytest.raises(AttributeError):
        pipe.seed = 8


def test_the_runtime_is_there_once_the_pipeline_is_built() -> None:
    pipe = Pipeline(batch_size=1, num_threads=1)
    with pytest.raises(Exception, match="has no outputs"):
        pipe.build()
    assert pipe._runtime is None
    pipe.build(lambda: fn.external_source(lambda i: np.array([i.idx_in_epoch]), batch=False))
    runtime = pipe._runtime
    assert runtime is not None
    pipe.build()
    assert pipe._runtime is runtime
    assert pipe.graph is runtime.plan.graph
    pipe.close()


@pytest.mark.parametrize("how", ["run", "schedule"])
def test_no_part_holds_the_pipeline(how: str) -> None:
    """So it goes, and is closed, when the last reference to it does, without the collector."""
    pipe = numbers()
    if how == "run":
        pipe.run()
    else:
        pipe.schedule_run()
        pipe.share_outputs()
    executor, seen = pipe._built().executor, weakref.ref(pipe)
    gc.disable()
    try:
        del pipe
        assert seen() is None
    finally:
        gc.enable()
    done = threading.Event()
    finalizer_thread.post(done.set)  # after what the finalizer has posted
    assert done.wait(30)
    assert executor.closed


def test_two_threads_record_into_one_pipeline() -> None:
    """Each thread leaves its own block, also the one that entered first."""
    pipe = Pipeline(batch_size=1, num_threads=1)
    entered, left = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def other() -> None:
        try:
            with pipe:
                assert Pipeline.current() is pipe
                entered.set()
                assert left.wait(30)
                fn.external_source(name="theirs")
            assert Pipeline.current() is None
        except BaseException as error:  # noqa: BLE001  raised in the test
            errors.append(error)
            entered.set()

    thread = threading.Thread(target=other)
    with pipe:
        thread.start()
        assert entered.wait(30)
        pipe.set_outputs(fn.external_source(name="ours"))
    left.set()
    thread.join()
    assert Pipeline.current() is None
    assert errors == []
