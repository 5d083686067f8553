"""Arithmetic, reductions and noise through their GPU kernels, beyond the cases of the operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.values.value import arithmetic
from gradiva.ops.math.arithmetic import BINARY, UNARY
from gradiva.ops.math.expression import EXACT, applied, expression_launch, operand
from gradiva.ops.math.mathematics import functions
from tests.tiers import few

from .harness import Planned, all_launches, fresh_like, planned, require_equal
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

Array = np.ndarray[Any, Any]


def edges(dtype: str) -> Array:
    """Values of a type where arithmetic goes wrong: limits, zeros of both signs, NaN, halves."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype[0] == "f":
        floats: Any = np.finfo(dtype)
        values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -2.5, 7.3, 100.0, -31.0, np.inf]
        values += [-np.inf, np.nan, floats.tiny, floats.smallest_subnormal, floats.max, floats.min]
        return np.array(values, dtype)
    limits = np.iinfo(dtype)
    known = [0, 1, 2, 3, 5, 7, 31, 33, 63, 100, limits.max, limits.max - 1, limits.min]
    known += [limits.min + 1, limits.max // 2]
    return np.array(known + ([-1, -2, -3, -7, -64] if limits.min else []), dtype)


def pairs(left: str, right: str) -> tuple[Array, Array]:
    """All edges of one type with all of another."""
    one, other = np.meshgrid(edges(left), edges(right))
    return one.ravel(), other.ravel()


def bits_agree(found: list[Planned], tolerance: float | None = None) -> None:
    """The results have equal bits but for NaNs', or are within a tolerance, relative."""
    for one in found:
        for ours, expected in zip(one.samples, one.expected, strict=True):
            if tolerance is not None and expected.dtype.kind == "f":
                require_equal(one)
                continue
            np.testing.assert_array_equal(ours, expected, err_msg=one.name)
            if expected.dtype.kind == "f":
                known = ~np.isnan(expected)
                signs = np.signbit(ours)[known], np.signbit(expected)[known]
                np.testing.assert_array_equal(*signs, err_msg=one.name)


TYPES = ("bool", "u1", "i1", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
MIXED = [("u1", "i1"), ("u8", "i8"), ("i4", "f4"), ("f2", "i2"), ("u8", "f4"), ("bool", "i1")]
MIXED += [("i8", "f8"), ("f2", "f4"), ("u4", "i4"), ("i1", "u8"), ("f4", "f2")]


@pytest.mark.parametrize("name", few([*BINARY, "min", "max"], "add"))
def test_types_and_edges(name: str, tmp_path: Path) -> None:
    """Every operator on two operands, for values on the edges of types."""
    operator = functions[name] if name in functions else arithmetic[name]
    found = []
    for left, right in [*MIXED, *((one, one) for one in TYPES)]:
        x, y = pairs(left, right)
        kinds = np.dtype(left).kind, np.dtype(right).kind
        if name in ("div", "mod") and "f" not in kinds:
            # The CPU refuses zeros, and what becomes one in the common type.
            kept = y != 0
            x, y = x[kept], y[kept]
        given = gradiva.as_batch([x]), gradiva.as_batch([y])
        try:
            found += planned(operator, [Case(f"{left} {right}", given)])
        except OperatorTypeError:
            continue
    assert len(found) > 5
    run_launches(all_launches(found), tmp_path)
    bits_agree(found, 0.0 if name == "pow" else None)


@pytest.mark.full
def test_one_operand(tmp_path: Path) -> None:
    found = []
    for name in [*UNARY, *(name for name in functions if name in EXACT)]:
        operator = functions[name] if name in functions else arithmetic[name]
        if operator.max_inputs > 1:
            continue
        for dtype in TYPES:
            values = gradiva.as_batch([edges(dtype)])
            try:
                found += planned(operator, [Case(dtype, (values,))])
            except OperatorTypeError:
                continue
    assert len(found) > 40
    run_launches(all_launches(found), tmp_path)
    bits_agree(found)


def test_division_by_zero_gives_zero(tmp_path: Path) -> None:
    """A GPU cannot refuse it, as the CPU does."""
    batch = gradiva.as_batch([np.arange(-3, 3, dtype=np.int16)])
    target = fresh_like(batch)
    one, zero = (operand(k, np.dtype(np.int16)) for k in range(2))
    for symbol in ("//", "%"):
        launch = expression_launch((batch, batch), target, applied(symbol, one, zero))
        run_launches([launch], tmp_path)
        expected = [1, 1, 1, 0, 1, 1] if symbol == "//" else [0] * 6
        assert target.at(0).tolist() == expected


def test_broadcasting(tmp_path: Path) -> None:
    """Operands that stretch along any axes, samples of several blocks, and none."""
    generator = np.random.default_rng(0)

    def batch(*shapes: tuple[int, ...], dtype: Any = np.float32) -> Any:
        return gradiva.as_batch([generator.normal(size=s).astype(dtype) for s in shapes])

    shapes = [(40, 50, 3), (0, 7, 3), (1, 1, 3), (33, 31, 3)]
    images = batch(*shapes)
    rights = [
        batch((3,), (3,), (3,), (3,)),
        batch((40, 1, 3), (0, 1, 3), (1, 1, 3), (33, 1, 3)),
        batch((1, 50, 1), (1, 7, 1), (1, 1, 1), (1, 31, 1)),
        batch(*shapes),
        batch((), (), (), ()),
        batch((50, 1), (7, 1), (1, 1), (31, 1)),
        np.float32(2.5),
    ]
    column, row = batch((4, 1, 5, 1), (2, 1, 3, 1)), batch((1, 6, 1, 7), (1, 1, 1, 2))
    cases = [Case("images", (images, right)) for right in rights]
    cases += [Case("swapped", (right, images)) for right in rights[:-1]]
    cases.append(Case("outer", (column, row)))
    found = planned(operators["add"], cases)
    narrow = [int(x.unit.text.split("AXES = ")[1].split(";")[0]) for x in all_launches(found)]
    assert narrow[:7] == [2, 3, 3, 1, 1, 3, 1]
    run_launches(all_launches(found), tmp_path)
    bits_agree(found)


def test_a_tree_of_operators_in_one_kernel(tmp_path: Path) -> None:
    """(x - mean) * 0.5 > y, and in float16, whose values are rounded at each step."""
    generator = np.random.default_rng(1)
    for dtype in (np.float32, np.float16):
        images = gradiva.as_batch(
            [generator.integers(0, 256, shape, np.uint8) for shape in ((40, 41, 3), (1, 2, 3))]
        )
        mean = gradiva.as_batch([np.array([9.7, 100.3, 80.1], dtype)] * 2)
        whole = gradiva.as_batch([np.int32(20), np.int32(-3)])
        operands = images, mean, whole
        x, m, y = (operand(k, one.data.dtype) for k, one in enumerate(operands))
        shifted = applied("*", applied("-", x, m), applied("/", m, y))
        for term, expected in (
            (shifted, (images - mean) * (mean / whole)),
            (applied(">", shifted, y), (images - mean) * (mean / whole) > whole),
        ):
            assert term.dtype == expected.data.dtype
            target = fresh_like(expected)
            run_launches([expression_launch(operands, target, term)], tmp_path)
            for ours, wanted in zip(target.arrays(), expected.arrays(), strict=True):
                np.testing.assert_array_equal(ours, wanted)
