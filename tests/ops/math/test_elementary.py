"""Elementary functions of float32: the nearest value nearly always, the same bits everywhere."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.math import elementary
from tests.tiers import few

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "cbrt": np.cbrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2, "fpow": np.power,
}  # fmt: skip
"""The same in float64, whose error is far below the half of a unit of float32."""

EDGES = np.array(
    [0.0, -0.0, 1, -1, 0.5, 2, 3, -3, math.inf, -math.inf, math.nan, 1e-45, -1e-38, 3e38, -3e38,
     1e-10, 88.7, 88.8, -87.4, -103.9, -104.1, 2.0**24, 2.0**24 + 2, -(2.0**25), 1e10, 1e30],
    np.float32,
)  # fmt: skip


def points() -> np.ndarray[Any, Any]:
    """Of all magnitudes, more of them where the functions do something."""
    generator = np.random.default_rng(11)
    scales = [generator.normal(size=4000) * scale for scale in (1e-6, 1e-2, 0.5, 2, 30, 1e5)]
    anywhere = np.exp(generator.uniform(-100, 88, 4000)) * generator.choice([-1, 1], 4000)
    return np.concatenate([*scales, anywhere]).astype(np.float32)


def operands(name: str) -> list[np.ndarray[Any, Any]]:
    if name not in ("atan2", "fpow"):
        return [np.concatenate([points(), EDGES])]
    first, second = points(), points()[::-1]
    if name == "fpow":
        second = (np.random.default_rng(3).normal(size=first.size) * 3).astype(np.float32)
        second[:500] = np.random.default_rng(4).integers(-9, 10, 500) / 2
    pairs = np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))
    return [np.concatenate(both) for both in zip((first, second), pairs, strict=True)]


@pytest.mark.parametrize("name", few([*FUNCTIONS], every=5))
def test_values(name: str) -> None:
    """The float32 that is nearest to the true value, at edges too, with the sign of zeros."""
    given = operands(name)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](*(one.astype(np.float64) for one in given)).astype(np.float32)
        call = getattr(gradiva.math, name)
        result = np.asarray(call(*map(gradiva.as_tensor, given)))
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    known = ~np.isnan(exact)
    np.testing.assert_array_max_ulp(result[known], exact[known], maxulp=1)
    assert np.mean(result[known] != exact[known]) < 1e-3
    np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(exact[known]))


@pytest.mark.parametrize("name", few(["exp", "atan2", "fpow"], "fpow"))
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16])
def test_other_types(name: str, dtype: Any) -> None:
    """Integers are float32 first; float16 is rounded once more."""
    given = [np.arange(1, 9).astype(dtype), np.arange(3, 11).astype(dtype)[::-1].copy()]
    given = given[: 1 if name == "exp" else 2]
    call = getattr(gradiva.math, name)
    result = np.asarray(call(*map(gradiva.as_tensor, given)))
    wide = np.asarray(call(*(gradiva.as_tensor(one.astype(np.float32)) for one in given)))
    assert result.dtype == (np.float16 if dtype is np.float16 else np.float32)
    with np.errstate(over="ignore"):
        assert result.tobytes() == wide.astype(result.dtype).tobytes()


def test_places_in_memory() -> None:
    """Operands that broadcast, that lie in another order, or that are longer than a strip."""
    table = points()[: 3 * 700].reshape(3, 700)
    row = np.linspace(-2, 2, 700, dtype=np.float32)
    whole = np.asarray(gradiva.math.fpow(gradiva.as_tensor(np.abs(table)), gradiva.as_tensor(row)))
    for k in range(3):
        alone = gradiva.math.fpow(gradiva.as_tensor(np.abs(table[k])), gradiva.as_tensor(row))
        assert np.asarray(alone).tobytes() == whole[k].tobytes()
    turned = np.asarray(gradiva.math.exp(gradiva.as_tensor(table.T / 9)))
    straight = np.asarray(gradiva.math.exp(gradiva.as_tensor(table / 9)))
    assert turned.T.tobytes() == straight.tobytes()
    assert gradiva.math.exp(gradiva.as_tensor(np.zeros((0, 3), np.float32))).shape == (0, 3)


def test_constants() -> None:
    """pi and log(2) from series of integers, by which the constants are cut."""

    def inverse_tangent(number: int) -> Fraction:
        terms = (Fraction((-1) ** k, (2 * k + 1) * number ** (2 * k + 1)) for k in range(190))
        return sum(terms, Fraction(0))

    half_pi = 2 * (4 * inverse_tangent(5) - inverse_tangent(239))
    assert int(2**240 / (half_pi)) == elementary._TWO_OVER_PI_BITS
    parts = [elementary._HALF_PI_TOP, elementary._HALF_PI_NEXT, elementary._HALF_PI_REST]
    assert abs(sum(map(Fraction, parts)) - half_pi) < Fraction(1, 2**110)
    log_2 = sum((Fraction(2, (2 * k + 1) * 3 ** (2 * k + 1)) for k in range(90)), Fraction(0))
    parts = [elementary._LN2_TOP, elementary._LN2_REST]
    assert abs(sum(map(Fraction, parts)) - log_2) < Fraction(1, 2**92)


_PROGRAM = """
import sys
from tests.ops.math.test_elementary import digest
print(digest())
"""


def digest() -> str:
    """Of the results of all functions, in float32 and float16."""
    found = hashlib.sha256()
    for name in FUNCTIONS:
        for dtype in (np.float32, np.float16):
            with np.errstate(all="ignore"):
                given = [gradiva.as_tensor(one.astype(dtype)) for one in operands(name)]
                result = np.asarray(getattr(gradiva.math, name)(*given))
            found.update(np.where(np.isnan(result), dtype(0), result).tobytes())
    return found.hexdigest()


def targets() -> list[str]:
    """The groups of instructions by which NumPy chooses here, without those it always uses."""
    introspect = pytest.importorskip("numpy.lib.introspect")
    signatures = introspect.opt_func_info().values()
    texts = [facts["available"] for functions in signatures for facts in functions.values()]
    names = {word for text in texts for word in text.split() if "baseline" not in word}
    return sorted(word for name in names for word in name.split("__"))


@pytest.mark.full
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of processors of x86-64")
@pytest.mark.parametrize("processor", ["x86-64", "haswell"])
def test_another_processor(processor: str) -> None:
    """The same bits where neither NumPy nor Numba may use what newer CPUs have."""
    newer = [name for name in targets() if processor == "x86-64" or "512" in name or "V4" in name]
    environment = {"NPY_DISABLE_CPU_FEATURES": " ".join(newer), "NUMBA_CPU_NAME": processor}
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PROGRAM],
        env={**os.environ, **environment, "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert made.stdout.split()[-1] == digest()
