"""Checkpoints of parallel external sources: the same stream, with another number of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from tests.tiers import few

BATCH = 3
STEPS = 8


def sample(info: Any) -> Any:
    if info.idx_in_epoch >= 9:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.epoch_idx], np.int32)


def whole(info: Any) -> Any:
    if info.iteration == 3:
        raise StopIteration
    return [np.array([info.iteration, info.epoch_idx, n], np.int32) for n in range(BATCH)]


def generated() -> Iterator[Any]:
    for number in range(3):
        yield [np.array([number, n], np.int32) for n in range(BATCH)]


def single() -> Iterator[Any]:
    for number in range(8):  # the last batch is smaller
        yield np.array([number], np.int32)


SOURCES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "samples": (sample, {"batch": False}),
    "batches": (whole, {"batch_info": True}),
    "quiet": (generated, {"cycle": "quiet"}),
    "raise": (generated, {"cycle": "raise"}),
    "single": (single, {"cycle": "raise", "batch": False}),
}


def make(kind: str, workers: int, parallel: bool = True, **options: Any) -> Pipeline:
    source, arguments = SOURCES[kind]

    @pipeline_def(batch_size=BATCH, num_threads=1, py_num_workers=workers, seed=3)
    def pipe() -> Any:
        data = fn.external_source(source, parallel=parallel, **arguments)
        return data, fn.random.uniform(range=(0.0, 1.0))

    return pipe(enable_checkpointing=True, **options)


def step(pipe: Pipeline) -> Any:
    """The next batch; at the end of the data the first of the next epoch."""
    try:
        outputs = pipe.run()
    except StopIteration:
        pipe.reset()
        outputs = pipe.run()
    return [output.as_array().tolist() for output in outputs]


@pytest.mark.parametrize("kind", few(SOURCES, "batches"))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(0, 2, marks=pytest.mark.full),
        pytest.param(2, 0, marks=pytest.mark.full),
        (2, 1),
    ],
)
def test_the_stream_goes_on(kind: str, before: int, after: int) -> None:
    whole_run = make(kind, 0, parallel=False)
    stream = [step(whole_run) for _ in range(STEPS)]
    first = make(kind, before)
    for taken in range(STEPS - 1):
        assert step(first) == stream[taken]
        if taken in (0, 2, 5):
            second = make(kind, after, checkpoint=first.checkpoint())
            rest = [step(second) for _ in range(STEPS - taken - 1)]
            assert rest == stream[taken + 1 :]
            second.close()
    first.close()
