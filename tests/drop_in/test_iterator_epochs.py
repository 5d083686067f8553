"""Epochs by `size` over a source that says itself where its data end."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva import Pipeline, fn
from gradiva.capture.iterators.iterator import PipelineIterator


class _Data:
    """`length` batches in a turn, and `total` in all turns together; -1: no limit."""

    def __init__(self, length: int, total: int) -> None:
        self.length, self.total, self.done = length, total, 0

    def __iter__(self) -> _Data:
        self.done = 0
        return self

    def __next__(self) -> list[np.ndarray]:
        if self.done == self.length or not self.total:
            self.done = 0
            raise StopIteration
        self.done += 1
        self.total -= 1
        return [np.full(3, self.done, np.uint8)] * 2


@pytest.mark.parametrize("auto_reset", [True, False])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(
    ("length", "total", "size", "counts"),
    [
        (2, -1, 4, [2, 2, 2]),  # the data end where the epoch does: one end, not two
        (1, -1, 2, [1, 1, 1]),
        (2, 3, 4, [2, 1, 0]),
        (2, -1, -1, [2, 2, 2]),
        (4, -1, 4, [2, 2, 2]),  # two epochs in a turn of the data
        (3, -1, 4, [2, 1, 2]),
    ],
)
def test_epochs(
    length: int, total: int, size: int, counts: list[int], depth: int, auto_reset: bool
) -> None:
    pipe = Pipeline(batch_size=2, num_threads=1, prefetch_queue_depth=depth)
    with pipe:
        pipe.set_outputs(fn.external_source(source=_Data(length, total)))
    loop = PipelineIterator(pipe, ["data"], size, auto_reset=auto_reset)
    found = []
    for _ in counts:
        found.append([int(turn[0]["data"][0, 0]) for turn in loop])
        if not auto_reset:
            loop.reset()
    assert [len(epoch) for epoch in found] == counts
    assert found[0] == list(range(1, counts[0] + 1))
