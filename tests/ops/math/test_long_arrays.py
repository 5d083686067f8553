"""Arithmetic on batches that are longer than the pieces it goes through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit.background_kernel import at_once
from gradiva.ops.math import numbers
from gradiva.ops.math.evaluate import _PLAIN, evaluate

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


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("number", [1.5, -0.1, 0.0, float("nan"), float("inf")])
def test_a_number_past_the_caches(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, number: float
) -> None:
    """By a kernel of our own the bits of NumPy, whatever the ends of strips and lines are."""
    monkeypatch.setattr(numbers._background, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(numbers, "use_nontemporal", lambda out: True)
    values = RNG.integers(-300, 300, 5003).astype(dtype)
    out = np.empty(5004, np.float32)[1:]  # at the end of a line, and not
    scalar = np.array(number, np.float32)
    for symbol in "+-*/":
        for a, b in ((values, scalar), (scalar, values)):
            with np.errstate(all="ignore"):
                plain = _PLAIN[symbol](a, b, dtype=np.float32, casting="unsafe")
            assert numbers.fill_with_number(symbol, a, b, out)
            np.testing.assert_array_equal(out.view(np.uint32), plain.view(np.uint32))
            assert evaluate(symbol, a, b).tobytes() == plain.tobytes()


def test_what_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers._background, "is_worth_compiling", lambda *_: True)
    fill, out = numbers.fill_with_number, np.empty(10, np.float32)
    values, number = np.arange(10, dtype=np.uint8), np.array(2, np.float32)
    assert not fill("*", values, number, out), "it is small"
    monkeypatch.setattr(numbers, "use_nontemporal", lambda out: True)
    assert fill("*", values, number, out)
    assert not fill("%", values, number, out)
    assert not fill("*", values, number, np.empty(10))
    assert not fill("*", values.astype(np.int32), number, out)
    assert not fill("*", values.astype(bool), number, out)
    assert not fill("*", values, np.array(2, np.int32), out)
    assert not fill("*", values, values, out)
    assert not fill("*", np.arange(20, dtype=np.uint8)[::2], number, out)
    assert not fill("*", values[:1], number, out)
    values.flags.writeable = False
    assert not fill("*", values, number, out), "kernels would be compiled for it alone"


@pytest.mark.full
def test_a_large_batch_times_a_number() -> None:
    images = RNG.integers(0, 256, (9, 1000, 1700, 3), np.uint8)
    with at_once():
        made = (gradiva.as_batch(images) * 1.5).as_array()
    assert np.array_equal(made, images.astype(np.float32) * np.float32(1.5))
