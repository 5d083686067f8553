"""Promise: whoever is slow, or keeps what it was given, finds it unchanged; and what runs ahead
stops where its queues are full."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from tests.soaking import Figures, scaled

pytestmark = pytest.mark.core


def digest(outputs: Any) -> str:
    found = hashlib.sha256()
    for batch in outputs:
        for sample in batch.arrays():
            found.update(np.ascontiguousarray(sample).tobytes())
    return found.hexdigest()


class Source:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.called = threading.Condition()

    def __call__(self, info: Any) -> Any:
        with self.called:
            self.calls += 1
            self.called.notify_all()
        return np.random.default_rng(info.idx_in_epoch).integers(0, 255, (9, 7, 3), np.uint8)


def make(source: Source, depth: int) -> gradiva.Pipeline:
    pipe = gradiva.Pipeline(batch_size=3, num_threads=2, prefetch_queue_depth=depth, seed=2)
    with pipe:
        images = fn.external_source(source, batch=False, layout="HWC")
        noise = fn.random.normal(images)
        pipe.set_outputs(images, fn.flip(images), noise, fn.resize(images, size=(5, 5)))
    return pipe


@pytest.mark.full
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("held", [0, 7, 1000])
def test_what_is_kept_stays(depth: int, held: int, figures: Figures) -> None:
    turns = scaled(30)
    fast = make(Source(), 2)
    wanted = [digest(fast.run()) for _ in range(turns)]
    fast.close()
    pipe = make(Source(), depth)
    kept: deque[tuple[int, Any]] = deque()
    seen = 0
    for turn in range(turns):
        kept.append((turn, pipe.run()))
        while len(kept) > held or (kept and turn == turns - 1):
            number, outputs = kept.popleft()
            assert digest(outputs) == wanted[number]
            seen += 1
    pipe.close()
    assert seen == turns
    figures(batches=turns, held=held)


@pytest.mark.parametrize("depth", [1, 3])
def test_nothing_runs_further_ahead_than_its_queues(depth: int, figures: Figures) -> None:
    """Until a batch is taken, so many more are made, and few beyond these."""
    source = Source()
    pipe = make(source, depth)
    most = 0
    for turn in range(1, scaled(10) + 1):
        pipe.run()
        with source.called:
            while source.calls < 3 * (turn + depth):
                assert source.called.wait(timeout=60)
            most = max(most, source.calls // 3 - turn)
    pipe.close()
    assert depth <= most <= depth + 3
    figures(turns=scaled(10), most_ahead=most)
