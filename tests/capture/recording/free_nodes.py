"""What tests of nodes outside of pipelines share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradiva import Pipeline, fn

SIZE = 6


def batches() -> Iterator[Any]:
    """Images whose pixels tell the batch and the sample, without end."""
    number = 0
    while True:
        samples = np.arange(SIZE, dtype=np.uint8)[:, None, None, None]
        pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
        yield (pixels + samples * 7 + number * 31).astype(np.uint8)
        number += 1


def images() -> Any:
    return fn.external_source(source=batches, layout="HWC")


def made(**options: Any) -> Pipeline:
    return Pipeline(batch_size=SIZE, num_threads=2, **{"seed": 11, **options})


def outputs(pipe: Pipeline, count: int = 3) -> list[list[Any]]:
    """The samples of some batches of all outputs."""
    found = [[np.asarray(sample) for batch in pipe.run() for sample in batch] for _ in range(count)]
    pipe.close()
    return found


def same(one: list[list[Any]], other: list[list[Any]]) -> None:
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
