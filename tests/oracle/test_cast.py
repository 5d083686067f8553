"""cast against DALI: exact for every pair of dtypes, ties and limits included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import values
from .reference import DTYPES, NAMES, assert_close, check, reference, theirs

SPECIAL = np.array(
    [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        0.49999997,
        -0.49999997,
        0.3,
        127.5,
        128.5,
        255.5,
        256,
        300,
        -300,
        32767.5,
        65535.5,
        65536,
        2147483647.0,
        2147483648.0,
        -2147483648.0,
        -2147483649.0,
        -2147483904.0,
        4294967295.0,
        4294967295.5,
        4294967296.0,
        9.2e18,
        9.3e18,
        1.9e19,
        -1e20,
        np.inf,
        -np.inf,
        8388609.5,
        4194304.5,
        1e38,
        65519.0,
        65520.0,
        2049,
        2051,
        1 + 2**-11,
        2.98e-8,
        2.9803e-8,
        -1e-8,
        6e-8,
        8.9e-8,
        6.1e-5,
        -6.0975552e-05,
    ]
)


@pytest.mark.parametrize("source", NAMES)
def test_all_pairs(source: str) -> None:
    generator = np.random.default_rng(4)
    dtype = DTYPES[source].numpy
    array = values(dtype, generator, 400)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = np.concatenate(
                [
                    array[~np.isnan(array)],
                    SPECIAL.astype(dtype),
                    generator.normal(0, 50, 400).astype(dtype),
                    (generator.integers(-600, 600, 300) / 2).astype(dtype),
                    (10.0 ** generator.uniform(-9, 5, 600)).astype(dtype),
                ]
            )
    ours = batch([array])
    for target in DTYPES.values():
        assert_close(gradiva.cast(ours, dtype=target), reference("cast", [ours], dtype=target))


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_nan(source: str) -> None:
    """NaN becomes 0 in every integer. In DALI it is what the CPU makes of it: 0 for
    narrow types, the least value of int32 and int64, 2**63 for uint64."""
    ours = batch([np.array([np.nan, -np.nan], DTYPES[source].numpy)])
    for name in NAMES:
        got = gradiva.cast(ours, dtype=name)
        if DTYPES[name].is_float or name == "bool":  # NaN does not round to 0, so it is true
            assert_close(got, reference("cast", [ours], dtype=name))
        else:
            assert not got.at(0).any()
            if name not in ("int32", "int64", "uint64"):
                assert_close(got, reference("cast", [ours], dtype=name))


@pytest.mark.parametrize("name", NAMES)
def test_scalars_empty_samples_and_layouts(name: str) -> None:
    check("cast", [np.array(2.5, np.float32), np.array(-1, np.float32)], dtype=DTYPES[name])
    check("cast", [np.ones((0, 3), np.float32), np.ones((2, 3), np.float32)], dtype=DTYPES[name])
    check("cast", [np.ones((2, 1, 3), np.int16)], layout="HWC", dtype=DTYPES[name])


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    numbers=st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=50),
    target=st.sampled_from(list(DTYPES.values())),
)
def test_any_float(numbers: list[float], target: gradiva.DType) -> None:
    check("cast", [np.array(numbers, np.float32)], dtype=target)


def test_our_dtypes_have_the_numbers_of_theirs() -> None:
    for dtype in DTYPES.values():
        assert int(theirs(dtype)) == dtype.id
