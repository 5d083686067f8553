"""Arithmetic on batches that are longer than the pieces it goes through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (3, 220, 150), np.uint8)


def run(function: Any) -> np.ndarray[Any, Any]:
    made: np.ndarray[Any, Any] = function(gradiva.as_batch(BYTES)).as_array()
    return made


@pytest.mark.parametrize("number", [3, -7, 2.5])
def test_a_number_and_bytes(number: float) -> None:
    dtype = np.float32 if isinstance(number, float) else np.int32
    wide, value = BYTES.astype(dtype), dtype(number)
    for made, expected in (
        (run(lambda x: x * number), wide * value),
        (run(lambda x: number - x), value - wide),
    ):
        assert made.dtype == dtype
        assert np.array_equal(made, expected)


LIMITS = [(20, 200), (-5, 300), (200, 20), (256, 300), (300, 256), (-9, -1), (255, 255), (-1, 0)]


@pytest.mark.parametrize(("low", "high"), LIMITS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_clamped(low: int, high: int, dtype: Any) -> None:
    """Also by limits that the values' own dtype does not have."""
    values = BYTES.astype(dtype)
    made = gradiva.math.clamp(gradiva.as_batch(values), low, high).as_array()
    expected = np.minimum(np.maximum(values.astype(np.int32), low), high)
    assert made.dtype == np.int32
    assert np.array_equal(made, expected)
