"""The loops of `resize` against NumPy: each way of filtering, of rounding, and wide filters."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager import extension as op
from gradiva.eager.rows.row_kernel import RowKernel
from gradiva.eager.simd.intrinsics import LOCAL
from gradiva.ops.image.resize.rows import _weighed, filter_lines, store_row, store_unsigned_row
from gradiva.ops.image.resize.taps import GAUSSIAN, TRIANGULAR, axis_taps, fill_axis

PIXELS, COLUMNS, COUNT = 23, 41, 3


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("taps", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_lines_are_sums_in_the_order_of_their_taps(channels: int, taps: int, kind: Any) -> None:
    """Two to four taps have code of their own; float32 sums, one product after the other."""
    random = np.random.default_rng(taps)
    source = (random.random(COUNT * COLUMNS * channels + 4) * 200).astype(kind)
    weights = random.random(PIXELS * taps).astype(np.float32)
    starts = np.sort(random.integers(0, COLUMNS - taps + 1, PIXELS))
    at = np.array([0, COLUMNS * channels, 2 * COLUMNS * channels, 0])
    apart = PIXELS * channels + 1  # one element more may be written
    to = np.array([0, 1, 2, 0]) * apart
    out = np.zeros(COUNT * apart, np.float32)
    safe = np.array([0, PIXELS], np.int64)
    across = (starts * channels, weights, taps, PIXELS, safe, channels)
    filter_lines(source, at.copy(), across, COUNT, out, to.copy())
    lines = source[: COUNT * COLUMNS * channels].reshape(COUNT, COLUMNS, channels)
    for line, row in zip(lines, out.reshape(COUNT, apart), strict=True):
        made = row[:-1].reshape(PIXELS, channels)
        for x in range(PIXELS):
            total = np.zeros(channels, np.float32)
            for tap in range(taps):
                product = weights[x * taps + tap] * line[starts[x] + tap].astype(np.float32)
                total = product if tap == 0 else total + product
            assert np.array_equal(made[x], total)


def called(row: RowKernel, values: Any, kind: Any, limits: Any) -> Any:
    made = np.empty(values.size, kind)
    words = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 5, ctypes.c_void_p]
    address = row.address(np.dtype(np.float32), np.dtype(kind))
    call = ctypes.CFUNCTYPE(None, *words, ctypes.c_int64)(address)
    sizes = (values.size, 0, 0, 1, 1)
    call(values.ctypes.data, made.ctypes.data, *sizes, limits.ctypes.data, 2)
    return made


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_numbers_without_a_sign_are_rounded_as_the_others(kind: Any) -> None:
    most = int(np.iinfo(kind).max)
    halves = np.arange(-2, most + 2, dtype=np.float32) + np.float32(0.5)
    special = [np.nan, np.inf, -np.inf, -0.0, 0.49999997, -0.49999997, 1e30, -1e30]
    below, above = (np.nextafter(halves, np.float32(end)) for end in (-1, 1e9))
    values = np.concatenate([halves, below, above, np.array(special, np.float32)])
    limits = np.array([0, most], np.float32)
    found = called(store_unsigned_row, values, kind, limits)
    assert np.array_equal(found, called(store_row, values, kind, limits))
    assert found[-8:].tolist() == [0, most, 0, 0, 0, 0, most, 0]
    assert found[2:5].tolist() == [1, 2, 3]


CURVES: dict[int, Callable[[Any], Any]] = {
    TRIANGULAR: lambda x: np.maximum(1 - np.abs(x), 0),
    GAUSSIAN: lambda x: np.where(np.abs(x) <= 1, np.exp(-4 * x * x), 0),
}


@pytest.mark.parametrize("kind", list(CURVES))
def test_wide_filters(kind: int) -> None:
    """Of more taps than a kernel has room for: weights as the curves say, from end to end."""
    facts = (600, 9, 0.0, 600.0, kind, 1)
    taps, scale = axis_taps(facts), 600 / 9
    assert taps > 4 * LOCAL
    starts, weights = np.empty(9, np.int64), np.empty(9 * taps, np.float32)
    fill_axis(facts, False, 0, 0, 9, starts, weights)
    for x in range(2, 7):  # none of their taps is beyond the border
        places = starts[x] + np.arange(taps) + 0.5
        expected = CURVES[kind]((places - (x + 0.5) * scale) / scale)
        found = weights[x * taps : (x + 1) * taps]
        ends = slice(1, -1)  # the Gaussian is not 0 at its ends: the last bit says which is taken
        assert np.allclose(found[ends], (expected / expected.sum())[ends], atol=3e-5)


@op.jit
def weighed(source: Any, weights: Any) -> tuple[int, int]:
    return _weighed(source, weights, 1, 4)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_taps_that_count_nothing_are_left_out_of_integers(kind: Any) -> None:
    """Of floats they are not: infinity times 0 is no number."""
    whole = (0, 4) if kind is np.float32 else None
    source = np.zeros(3, kind)
    for weights, expected in (
        ([9, 0, 0.5, 0, 0], (1, 2)),
        ([9, 0.5, 0, 0, 0.5], (0, 4)),
        ([9, 0, 0, 0, 0], (0, 1)),
        ([0, 1, 1, 1, 0], (0, 3)),
    ):
        assert weighed(source, np.array(weights, np.float32)) == (whole or expected)


def test_infinite_pixels_reach_as_far_as_filters_do() -> None:
    image = np.ones((5, 3, 1), np.float32)
    image[4] = np.inf
    (made,) = gradiva.resize(gradiva.as_batch([image], layout="HWC"), size=(5, 3), interp_type=2)
    rows = np.asarray(made)[:, 0, 0]
    assert np.isfinite(rows[:3]).all()
    assert not np.isfinite(rows[3:]).any()
