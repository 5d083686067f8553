"""Mathematical functions against DALI: all dtypes.

Exact where the result is exact by nature; else both are within units of the last place of the true
value, and so within `ULPS` of one another. Two differences are meant: DALI's `rsqrt` of a
float32 is NaN at 0 and at infinity, and it refuses float16 on the CPU, where ours computes in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import GradivaError, batch
from gradiva.ops.math.mathematics import BINARY
from gradiva.ops.math.promotion import UNARY_FLOAT as UNARY

from .pictures import Array, values
from .reference import DTYPES, NAMES, REFUSALS, assert_close, math, reference

EXACT = ("abs", "fabs", "sqrt", "floor", "ceil", "min", "max", "clamp")
ULPS = 4


def points(name: str, generator: np.random.Generator) -> Array:
    """Extreme values, and for floats many in the functions' domains."""
    dtype = DTYPES[name].numpy
    found = values(dtype, generator)
    if dtype.kind != "f":
        return found
    more = [generator.uniform(-1, 1, 500), generator.normal(size=500) * 5]
    return np.concatenate([found, *more]).astype(dtype)


def compare(function: str, *arrays: Array) -> None:
    """Both give values that are near, or both refuse."""
    where = f"{function} of {[array.dtype.name for array in arrays]}"
    ours = [batch([array]) for array in arrays]
    call = getattr(gradiva.math, function)
    try:
        theirs = reference(getattr(math, function), ours)
    except REFUSALS:
        if np.dtype(np.float16) in [array.dtype for array in arrays]:
            assert call(*ours).dtype.is_float
        else:
            with pytest.raises(GradivaError):
                call(*ours)
        return
    result = call(*ours)
    if function in EXACT or result.dtype.numpy.kind != "f":
        assert_close(result, theirs)
        return
    got, (expected,) = result.at(0), theirs
    assert got.dtype == expected.dtype, where
    assert got.shape == expected.shape, where
    if function == "rsqrt":
        odd = (arrays[0] == 0) | np.isposinf(arrays[0].astype(got.dtype))
        got, expected = got[~odd], expected[~odd]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), where)
    infinite = np.isinf(got) | np.isinf(expected)
    np.testing.assert_array_equal(got[infinite], expected[infinite], where)
    finite = np.isfinite(got)
    np.testing.assert_array_max_ulp(got[finite], expected[finite], maxulp=ULPS)


def test_all_functions() -> None:
    assert {name for name in dir(math) if not name.startswith("_")} - {"sys"} == {
        *gradiva.math.__all__
    }


@pytest.mark.parametrize("function", ["abs", *UNARY])
def test_unary(function: str) -> None:
    generator = np.random.default_rng(1)
    for name in NAMES:
        compare(function, points(name, generator))


@pytest.mark.parametrize("function", [*BINARY, "pow"])
def test_binary(function: str) -> None:
    generator = np.random.default_rng(2)
    for left, right in itertools.product(NAMES, NAMES):
        x, y = points(left, generator), points(right, generator)
        size = min(len(x), len(y))
        compare(function, generator.permutation(x)[:size], generator.permutation(y)[:size])


def test_clamp() -> None:
    generator = np.random.default_rng(3)
    some = ("bool", "uint8", "int8", "int32", "uint64", "float32", "float64")
    for names in itertools.product(some, repeat=3):
        arrays = [points(name, generator) for name in names]
        size = min(map(len, arrays))
        compare("clamp", *[generator.permutation(array)[:size] for array in arrays])


@pytest.mark.parametrize("number", [1, 2.5, np.uint8(3), np.int64(-2)])
def test_numbers_and_broadcasting(number: Any) -> None:
    images = batch(
        [np.random.default_rng(i).integers(0, 9, (2 + i, 3), np.uint8) for i in range(3)],
        layout="HC",
    )
    channels = batch([np.array([1, 2, 3], np.float32)] * 3, layout="C")
    calls: list[Callable[[Any, Any, Any], Any]] = [
        lambda m, x, c: m.max(x, number),
        lambda m, x, c: m.min(number, c),
        lambda m, x, c: m.clamp(x, number, c),
        lambda m, x, c: m.clamp(number, c, x),
        lambda m, x, c: m.clamp(value=x, lo=c, hi=5),
    ]
    for call in calls:
        theirs = reference(partial(call, math), [images, channels])
        assert_close(call(gradiva.math, images, channels), theirs)


numbers = st.lists(
    st.floats(-1, 1, width=32) | st.floats(width=32) | st.integers(-(2**31), 2**31 - 1),
    min_size=5,
    max_size=5,
)
ARITY = {"clamp": 3, **dict.fromkeys((*BINARY, "pow"), 2), **dict.fromkeys(("abs", *UNARY), 1)}


@pytest.mark.parametrize("function", ARITY)
@settings(max_examples=8, derandomize=True, deadline=None)
@given(data=st.data())
def test_drawn(function: str, data: st.DataObject) -> None:
    """Of any dtypes but float16, which DALI refuses."""
    arrays = []
    for _ in range(ARITY[function]):
        name = data.draw(st.sampled_from([name for name in NAMES if name != "float16"]))
        found = np.array(data.draw(numbers), np.float64)
        if not name.startswith("float"):
            found = np.clip(np.nan_to_num(found), 0 if name[0] in "ub" else -128, 127)
        arrays.append(found.astype(DTYPES[name].numpy))
    compare(function, *arrays)
