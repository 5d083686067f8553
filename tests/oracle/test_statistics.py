"""`executor_statistics` beside DALI's: the same keys, and the same sizes of batches.

DALI's is empty under its newer executor: it is asked for the older one. What it reports as
the largest sample is, for a batch in one block, the mean of the batch; so the samples are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import backend
from gradiva import fn as ours

from .reference import dali, theirs_backend

SHAPES = [(10, 20, 3), (100, 120, 3), (7, 5, 3)]
COUNTS = [3, 2, 3]


def source() -> Any:
    """A callable that gives batches of growing and shrinking size."""
    left = iter(list(zip(SHAPES, COUNTS, strict=True)) * 50)

    def give() -> list[np.ndarray[Any, Any]]:
        shape, count = next(left)
        return [np.zeros(shape, np.uint8)] * count

    return give


def build(library: Any, functions: Any, types: Any, **options: Any) -> Any:
    pipe = library.Pipeline(
        batch_size=3,
        num_threads=2,
        device_id=None,
        prefetch_queue_depth=1,
        enable_memory_stats=True,
        **options,
    )
    with pipe:
        images = functions.external_source(source=source(), layout="HWC", name="images")
        flipped = functions.flip(images, name="flipped")
        numbers = functions.cast(flipped, dtype=types.FLOAT, name="numbers")
        window = functions.crop(flipped, crop=(4, 5), name="window")
        pipe.set_outputs(flipped, numbers, window)
    pipe.build()
    return pipe


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_statistics(batches: int) -> None:
    mine = build(gradiva, ours, gradiva.types, exec_async=False)
    other = build(dali, dali.fn, dali.types, exec_dynamic=False)
    for _ in range(batches):
        mine.run()
        other.run()
    found, expected = mine.executor_statistics(), other.executor_statistics()
    mine.close()
    for name in ("CPU_images", "CPU_flipped", "CPU_numbers", "CPU_window"):
        assert set(found[name]) == set(expected[name])
        for key in ("real_memory_size", "max_real_memory_size"):
            assert found[name][key] == expected[name][key], (name, key)
            # What is reserved differs: theirs keeps a block per operator, ours a pool for all.
            assert found[name][key.replace("real", "reserved")][0] >= expected[name][key][0]


@pytest.mark.parametrize("value", [0, 0.25, 1, 1.5, -0.5])
def test_shrink_threshold_is_taken_or_refused_alike(value: float) -> None:
    before = backend.GetHostBufferShrinkThreshold(), theirs_backend.GetHostBufferShrinkThreshold()
    outcomes: list[Any] = []
    for library in (backend, theirs_backend):
        try:
            library.SetHostBufferShrinkThreshold(value)
            outcomes.append(library.GetHostBufferShrinkThreshold())
        except ValueError:
            outcomes.append("refused")
    backend.SetHostBufferShrinkThreshold(before[0])
    theirs_backend.SetHostBufferShrinkThreshold(before[1])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("value", [1, 1.5, 4, 0.9, 4.5, float("inf"), -1])
@pytest.mark.parametrize("kind", ["Host", "Device", ""])
def test_growth_factors_are_taken_or_refused_alike(kind: str, value: float) -> None:
    outcomes: list[Any] = []
    for library in (backend, theirs_backend):
        names = ("GetHostBufferGrowthFactor", "GetDeviceBufferGrowthFactor")
        before = [getattr(library, name)() for name in names]
        library.SetBufferGrowthFactor(2)
        try:
            getattr(library, f"Set{kind}BufferGrowthFactor")(value)
        except ValueError:
            outcomes.append("refused")
        outcomes.append([getattr(library, name)() for name in names])
        library.SetHostBufferGrowthFactor(before[0])
        library.SetDeviceBufferGrowthFactor(before[1])
    half = len(outcomes) // 2
    assert outcomes[:half] == outcomes[half:]
