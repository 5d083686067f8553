"""The one conversion between dtypes, in its compiled and its NumPy form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva import as_batch, cast
from gradiva.eager.jit.packed_calls import run_calls
from gradiva.eager.rows import row_chain
from gradiva.eager.rows.convert import convert_array, to_half
from gradiva.eager.rows.half_row import half_step
from gradiva.eager.types.dtypes import DType, dtypes

TABLE: list[tuple[float, str, int]] = [
    (0.5, "int8", 1),
    (2.5, "int8", 3),
    (-0.5, "int8", -1),
    (-2.5, "int32", -3),
    (0.49999997, "uint8", 0),
    (254.5, "uint8", 255),
    (1e9, "uint8", 255),
    (-3.0, "uint8", 0),
    (np.nan, "uint8", 0),
    (np.nan, "int64", 0),
    (np.inf, "int16", 32767),
    (-np.inf, "int16", -32768),
    (8388609.0, "int32", 8388609),
    (3e9, "int32", 2147483647),
    (1e20, "int64", 9223372036854775807),
    (1e20, "uint64", 18446744073709551615),
    (-1.0, "uint64", 0),
]


@pytest.mark.parametrize(("value", "name", "expected"), TABLE)
def test_table(value: float, name: str, expected: int) -> None:
    single = np.array([value], np.float32)
    assert int(convert_array(single, DType.parse(name).numpy)[0]) == expected
    assert int(cast(as_batch([single]), dtype=name).at(0)[0]) == expected


def interesting(dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_float:
        steps = np.arange(-600, 600) / 2.0
        odd = [
            np.nan,
            np.inf,
            -np.inf,
            0.49999997,
            65519.9,
            65520,
            2049,
            3e9,
            -3e9,
            2.0**63,
            2.0**64,
        ]
        return np.concatenate([steps, np.array(odd)]).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    return np.array([*edges, *range(0, 120, 7)], dtype.numpy)


QUICK = {("uint8", "float32"), ("float32", "uint8"), ("float32", "float16"), ("float16", "int64"),
         ("int64", "uint8"), ("uint64", "float64"), ("bool", "int16")}  # fmt: skip
PAIRS = [
    pytest.param(
        source,
        target,
        id=f"{source}-{target}",
        marks=() if (str(source), str(target)) in QUICK else pytest.mark.full,
    )
    for source in dtypes
    for target in dtypes
]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_compiled_and_numpy_agree(source: DType, target: DType) -> None:
    values = interesting(source)
    ours = cast(as_batch([values]), dtype=target).at(0)
    assert ours.dtype == target.numpy
    np.testing.assert_array_equal(ours, convert_array(values, target.numpy))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["uint8", "int8", "uint16", "int16"])
def test_what_is_next_to_a_half(source: str, target: str) -> None:
    """All halves of the range, and the numbers on both sides of each."""
    kind = DType.parse(source).numpy
    halves = np.arange(-66_000, 66_000).astype(kind) + kind.type(0.5)
    values = np.concatenate(
        [halves, np.nextafter(halves, kind.type(-np.inf)), np.nextafter(halves, kind.type(np.inf))]
    )
    ours = cast(as_batch([values]), dtype=target).at(0)
    np.testing.assert_array_equal(ours, convert_array(values, DType.parse(target).numpy))


def test_halves_round_away_from_zero() -> None:
    singles = np.array([2049.0, 1 + 2**-11, -2049.0, 65520.0, 1e-8, 3 * 2.0**-25], np.float32)
    expected = [2050.0, 1 + 2**-10, -2050.0, np.inf, 0.0, 2.0**-23]
    assert to_half(singles).astype(np.float64).tolist() == expected


def test_what_no_float_holds_is_infinite() -> None:
    """Without a warning, which is an error here."""
    assert to_half(np.array([1e300, -1e300, 7e4])).tolist() == [np.inf, -np.inf, np.inf]


@pytest.mark.full
def test_the_row_kernel_of_half_has_the_bits_of_to_half() -> None:
    """Of every exponent and sign: each border between two results, and what is beside it."""
    tops = np.arange(1 << 19, dtype=np.uint32) << np.uint32(13)
    bits = np.concatenate([tops + np.uint32(rest) for rest in (0, 1, 0x0FFF, 0x1000, 0x1001)])
    found = np.empty(len(bits), np.uint16)
    samples = row_chain.table(1)
    samples[:, row_chain.PIXELS] = samples[:, row_chain.LAST] = len(bits)
    chain = row_chain.Chain([half_step(1, 1)], np.dtype(np.uint32), 1, len(bits))
    run_calls(row_chain.strip_calls(bits, samples, chain, found), 0, 1)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, to_half(bits.view(np.float32)).view(np.uint16))
