"""Python's operators on batches against DALI: all pairs of dtypes, extreme values.

Exact, but for `**` on floats, which is libm's: 1 unit in the last place. Two differences are meant.
DALI takes a negative integer for less than every float, NaN included (`-5.0 > -1` is true
there). And it refuses float16 on the CPU, where ours computes in it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import Batch, GradivaError, batch

from .pictures import Array, pictures, values
from .reference import DTYPES, NAMES, REFUSALS, Samples, agree, assert_close, reference

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
BITWISE = ("&", "|", "^", "<<", ">>")
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "abs": abs,
}
# What a comparison gives for a negative integer on the left of any float, in DALI.
LESS = {"==": False, "!=": True, "<": True, "<=": True, ">": False, ">=": False}
MORE = {"==": False, "!=": True, "<": False, "<=": False, ">": True, ">=": True}


def with_its_defect(op: str, a: Array, b: Array, right: Array) -> Array:
    """A right result of a comparison, as DALI gets it."""
    if op in LESS and a.dtype.kind == "i" and b.dtype.kind == "f":
        return np.where(a < 0, LESS[op], right)
    if op in MORE and a.dtype.kind == "f" and b.dtype.kind == "i":
        return np.where(b < 0, MORE[op], right)
    return right


def compare(op: str, ours: Batch, theirs: Samples, a: Array, b: Array) -> None:
    result = with_its_defect(op, a, b, ours.at(0))
    (expected,) = theirs
    where = f"{a.dtype} {op} {b.dtype}"
    assert result.dtype == expected.dtype, where
    assert result.shape == expected.shape, where
    if op == "**" and result.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected), where)
        number = ~np.isnan(expected)
        infinite = np.isinf(result) | np.isinf(expected)
        np.testing.assert_array_equal(result[infinite], expected[infinite], where)
        finite = number & ~infinite
        np.testing.assert_array_max_ulp(result[finite], expected[finite], maxulp=1)
    else:
        np.testing.assert_array_equal(result, expected, where)


def no_traps(op: str, a: Array, b: Array) -> tuple[Array, Array]:
    """Without division by zero, and without least // -1, which kills DALI's process."""
    if op not in ("//", "%") or "f" in (a.dtype.kind, b.dtype.kind):
        return a, b
    common = (batch([a.ravel()[:1]]) & batch([b.ravel()[:1]])).dtype.numpy
    b = np.where(b.astype(common) == 0, np.ones((), b.dtype), b)
    if common.kind == "i":
        a = np.where(a.astype(common) == np.iinfo(common).min, np.ones((), a.dtype), a)
    return a, b


def in_half(op: str, left: str, right: str) -> None:
    """Ours computes in float16, or in the wider float of the two; small numbers are exact."""
    x, y = np.array([1, 0, 1]), np.array([1, 1, 1])
    result = BINARY[op](
        batch([x.astype(DTYPES[left].numpy)]), batch([y.astype(DTYPES[right].numpy)])
    )
    wide = {"float32", "float64"} & {left, right}
    assert result.dtype.name == ("bool" if op in LESS else wide.pop() if wide else "float16")
    exact = x / y if op == "//" else BINARY[op](x, y)
    np.testing.assert_array_equal(result.at(0), exact.astype(result.dtype.numpy))


@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str) -> None:
    generator = np.random.default_rng(1)
    apply = BINARY[op]
    for left in NAMES:
        for right in NAMES:
            a = values(DTYPES[left].numpy, generator)
            b = values(DTYPES[right].numpy, generator)
            if "float16" in (left, right):
                if op not in BITWISE:
                    in_half(op, left, right)
                with pytest.raises(REFUSALS):
                    reference(apply, [[a[:2]], [b[:2]]])
                continue
            a, b = no_traps(op, a, b)
            x, y = batch([a]), batch([b])
            try:
                theirs = reference(apply, [x, y])
            except REFUSALS:
                with pytest.raises(GradivaError):
                    apply(x, y)
                continue
            compare(op, apply(x, y), theirs, a, b)


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str) -> None:
    generator = np.random.default_rng(2)
    for name in NAMES:
        x = batch([values(DTYPES[name].numpy, generator)])
        try:
            theirs = reference(UNARY[op], [x])
        except REFUSALS:
            if name == "float16" and op != "~":
                UNARY[op](x)  # ours alone
            else:
                with pytest.raises(GradivaError):
                    UNARY[op](x)
            continue
        assert_close(UNARY[op](x), theirs)


@pytest.mark.parametrize("op", BINARY)
def test_scalars(op: str) -> None:
    """Python's numbers are bool, int32 or float32, on either side."""
    for name in NAMES:
        if name == "float16":
            continue
        x = np.array([1, 2, 3]).astype(DTYPES[name].numpy)
        for number in (1, -1, 3, 1.0, 2.5, True, False):
            scalar = np.array(number, {bool: "?", int: "i4", float: "f4"}[type(number)])
            for a, b, left, right in ((x, scalar, [x], number), (scalar, x, number, [x])):
                ours = [batch(side) if isinstance(side, list) else side for side in (left, right)]
                try:
                    theirs = reference(BINARY[op], [left, right])
                except REFUSALS:
                    with pytest.raises(GradivaError):
                        BINARY[op](*ours)
                    continue
                compare(op, BINARY[op](*ours), theirs, a, b)


@pytest.mark.parametrize(
    "number", [np.uint8(1), np.int64(-3), np.float32(0.5), np.int16(300), np.bool_(True)]
)
def test_numpy_scalars_keep_their_type(number: Any) -> None:
    for name in ("uint8", "int32", "float32"):
        x = batch([np.array([1, 2, 3], DTYPES[name].numpy)])
        assert_close(x * number, reference(operator.mul, [x, number]))


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**40])
def test_too_large_a_scalar(number: int) -> None:
    x = batch([np.array([1, 2])])
    with pytest.raises((OverflowError, *REFUSALS)):
        reference(operator.add, [x, number])
    with pytest.raises(GradivaError):
        x + number


def test_lists_are_int32_or_float32_vectors() -> None:
    x = batch([np.ones((2, 3), np.uint8)])
    for vector in ([1, 2, 3], [0.5, 1.0, 2.0]):
        assert_close(x + vector, reference(operator.add, [x, _constant(vector)]))


def _constant(vector: Any) -> Any:
    from .reference import types

    return types.Constant(vector)


@pytest.mark.parametrize("name", ["uint8", "int16", "int32", "uint64"])
@pytest.mark.parametrize("op", ["//", "%"])
def test_division_by_zero(op: str, name: str) -> None:
    x, y = batch([np.array([1, 2], DTYPES[name].numpy)]), batch([np.array([1, 0], "u1")])
    with pytest.raises(REFUSALS):
        reference(BINARY[op], [x, y])
    with pytest.raises(GradivaError, match="zero"):
        BINARY[op](x, y)


SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...], str, str], ...] = (
    *(
        ((2, 3, 4), (2, 3, 4), *pair)
        for pair in (("HWC", ""), ("", "HWC"), ("HWC", "HWC"), ("HWC", "CHW"), ("", ""))
    ),
    ((2, 3, 4), (4,), "HWC", "C"),
    ((2, 3, 4), (4,), "HWC", "W"),
    ((2, 3, 4), (), "HWC", ""),
    ((), (2, 3, 4), "", "HWC"),
    ((2, 3, 4), (3, 4), "", "HW"),
    ((2, 3, 4), (3, 4), "HWC", "WC"),
    ((2, 3, 4), (3, 4), "HWC", "HW"),
    ((2, 3, 4), (2,), "", ""),
    ((2, 3, 4), (1, 3, 1), "", ""),
    ((2, 2), (1, 2, 2), "", ""),
    ((0, 3), (3,), "", ""),
    ((1,), (0,), "", ""),
    ((2, 1, 4), (1, 3, 1), "HWC", ""),
    ((2, 1, 3, 1), (5, 1, 4), "", ""),
)


@pytest.mark.parametrize(("a", "b", "layout_a", "layout_b"), SHAPES)
def test_broadcast(a: tuple[int, ...], b: tuple[int, ...], layout_a: str, layout_b: str) -> None:
    generator = np.random.default_rng(3)
    x = batch([generator.normal(size=a).astype(np.float32)], layout=layout_a)
    y = batch([generator.normal(size=b).astype(np.float32)], layout=layout_b)
    try:
        theirs = reference(operator.add, [x, y])
    except REFUSALS:
        with pytest.raises(GradivaError):
            x + y
        return
    assert_close(x + y, theirs)


def test_ragged_broadcast() -> None:
    images = pictures()
    gain = batch([np.array([1, 0.5, i], np.float32) for i in range(len(images))])
    for op in ("+", "*", "/", "-"):
        assert_close(BINARY[op](images, gain), reference(BINARY[op], [images, gain]))
        assert_close(BINARY[op](gain, images), reference(BINARY[op], [gain, images]))


def test_no_contraction() -> None:
    """x * y + z rounds twice."""
    generator = np.random.default_rng(0)
    x, y, z = (batch([generator.normal(size=5000).astype(np.float32)]) for _ in range(3))
    assert_close(x * y + z, reference(lambda a, b, c: a * b + c, [x, y, z]))


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    scale=st.floats(-4, 4, width=32),
    shift=st.integers(-300, 300),
    mask=st.integers(0, 255),
    divisor=st.integers(1, 40),
)
def test_expressions(scale: float, shift: int, mask: int, divisor: int) -> None:
    def expression(x: Any) -> Any:
        return (x * scale + shift) / divisor - ((x & mask) // divisor) % 7

    assert_close(expression(pictures()), reference(expression, [pictures()]))


@pytest.mark.parametrize("op", [*BINARY, *(f"unary {op}" for op in UNARY)])
@settings(max_examples=8, derandomize=True, deadline=None)
@given(data=st.data())
def test_drawn(op: str, data: st.DataObject) -> None:
    """Of any dtypes but float16, which DALI refuses; of any small shapes."""
    dtypes = st.sampled_from([name for name in NAMES if name != "float16"])
    shape = data.draw(st.lists(st.integers(1, 4), max_size=3))
    generator = np.random.default_rng(data.draw(st.integers(0, 999)))

    def drawn() -> Array:
        dtype = DTYPES[data.draw(dtypes)].numpy
        return values(dtype, generator)[8 : 8 + int(np.prod(shape))].reshape(shape)

    if op.startswith("unary"):
        a = drawn()
        apply = UNARY[op.removeprefix("unary ")]
        agree(lambda: apply(batch([a])), lambda: reference(apply, [batch([a])]))
        return
    a, b = no_traps(op, drawn(), drawn())
    x, y = batch([a]), batch([b])
    try:
        theirs = reference(BINARY[op], [x, y])
    except REFUSALS:
        with pytest.raises(GradivaError):
            BINARY[op](x, y)
        return
    compare(op, BINARY[op](x, y), theirs, a, b)
