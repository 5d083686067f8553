"""`with training() as pipe:`: the end of the block closes a pipeline that was used in it."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.pipeline.definition import current_pipeline

pytestmark = pytest.mark.core


@pipeline_def(batch_size=2, num_threads=2)
def counting() -> Any:
    return fn.random.uniform(range=(0.0, 1.0), seed=7)


def pipeline_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "gradiva" in thread.name}


def test_the_end_of_the_block_closes() -> None:
    before = pipeline_threads()
    with counting() as pipe:
        first = pipe.run()[0]
        assert pipeline_threads() - before
    assert not pipeline_threads() - before  # others may have ended
    assert np.asarray(first).shape == (2,)
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()


def test_an_error_in_the_block_closes_too() -> None:
    pipe = counting()

    def fail() -> None:
        with pipe:
            pipe.run()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()
    assert current_pipeline() is None


def test_in_the_block_dynamic_mode_works_on_the_batches() -> None:
    with counting() as pipe:
        (values,) = pipe.run()
        assert isinstance(gradiva.cast(values, dtype="uint8"), gradiva.Batch)
        assert isinstance(fn.cast(values, dtype="uint8"), gradiva.Batch)
        assert current_pipeline() is None
        (free,) = [fn.random.uniform(range=(0.0, 1.0))]
        assert not isinstance(free, gradiva.Batch)


def test_what_was_not_built_is_not_closed() -> None:
    with counting() as pipe:
        assert current_pipeline() is pipe
    assert len(pipe.run()[0]) == 2
    pipe.close()


def test_a_block_that_defines_does_not_close() -> None:
    with Pipeline(batch_size=2, num_threads=1) as pipe:
        pipe.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
        pipe.build()
    assert len(pipe.run()[0]) == 2
    pipe.close()


def test_outputs_may_be_set_again_in_the_block() -> None:
    pipe = counting()
    with pipe:
        pipe.set_outputs(fn.random.coin_flip(dtype="uint8"))
    assert pipe.run()[0].dtype is gradiva.uint8
    pipe.close()


def test_blocks_within_blocks() -> None:
    with counting() as outer:
        with counting() as inner:
            assert len(outer.run()[0]) == len(inner.run()[0]) == 2
        with pytest.raises(RuntimeError, match="closed"):
            inner.run()
        outer.run()
    with pytest.raises(RuntimeError, match="closed"):
        outer.run()
    assert current_pipeline() is None


def test_another_thread_may_build_it() -> None:
    with counting() as pipe:
        thread = threading.Thread(target=pipe.run)
        thread.start()
        thread.join()
    assert current_pipeline() is None
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()


def test_a_copy_of_the_context_may_build_it() -> None:
    """As `asyncio.to_thread` makes one for each call."""

    @pipeline_def(batch_size=2, num_threads=1)
    def made() -> Any:
        return fn.external_source(source=lambda: np.ones((2, 3), np.float32)) * 2

    with made() as pipe:
        copied = contextvars.copy_context()
        assert copied.run(pipe.run)[0].at(0)[0] == 2
        assert (
            copied.run(lambda: gradiva.resize(np.ones((2, 2, 3), np.uint8), size=4)).shape[0] == 4
        )
        assert pipe.run()[0].at(1)[2] == 2
    assert current_pipeline() is None


def test_debug_pipelines() -> None:
    with counting(debug=True) as pipe:
        assert len(pipe.run()[0]) == 2
    assert current_pipeline() is None
