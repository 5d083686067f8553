"""Vectors in kernels: each function on eight numbers, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.vectors import (
    LANES,
    add,
    gather,
    load,
    mul,
    narrow,
    spread,
    square_root,
    store,
    sub,
    total,
    widen,
)


@jit
def _all(a: Any, b: Any, out: Any, sums: Any) -> None:
    x, y = load(a, 1), load(b, 0)
    store(out, 0, add(x, y))
    store(out, 8, sub(x, y))
    store(out, 16, mul(x, y))
    store(out, 24, square_root(y))
    store(out, 32, gather(a, 2, 3))
    store(out, 40, spread(a[3]))
    third = spread(1.0 / 3.0)
    store(out, 48, narrow(add(mul(widen(x), third), widen(y))))
    sums[0] = total(x)


def test_functions() -> None:
    generator = np.random.default_rng(1)
    a = generator.uniform(0, 1, 40).astype(np.float32)
    b = generator.uniform(0, 1, 8).astype(np.float32)
    out, sums = np.zeros(56, np.float32), np.zeros(1, np.float32)
    _all(a, b, out, sums)
    x = a[1:9]
    wide = x.astype(np.float64) * (1 / 3) + b
    expected: tuple[Any, ...] = (x + b, x - b, x * b, np.sqrt(b), a[2:26:3], np.full(8, a[3]), wide)
    for made, wanted in zip(out.reshape(-1, LANES), expected, strict=True):
        np.testing.assert_array_equal(made, wanted.astype(np.float32))
    pairs = x[::2] + x[1::2]
    assert sums[0] == (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])


@jit
def _root_of_each(values: Any, out: Any) -> None:
    for at in range(0, values.size, LANES):
        store(out, at, square_root(load(values, at)))


def test_odd_numbers() -> None:
    """Negative ones, zeros, infinity and NaN, as everywhere."""
    values = np.array([-1, -0.0, 0, np.inf, np.nan, 1e-45, 3.4e38, 4], np.float32)
    out = np.zeros(8, np.float32)
    _root_of_each(values, out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, np.sqrt(values))
