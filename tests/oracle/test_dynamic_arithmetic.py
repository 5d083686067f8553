# ruff: noqa: B023, RUF005
"""Python's operators and `math.*` against DALI's dynamic mode: dtypes, kinds of operands.

Each operator is applied to each pair of dtypes, with operands of each kind: batch, tensor, NumPy
array, Python's and NumPy's numbers, on either side. Where an array of NumPy stands on the left of a
tensor, DALI hands over to NumPy, and left of a batch it makes an array of objects; ours
gives what the operands would give as tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError
from gradiva.ops.math.mathematics import BINARY as BINARY_FUNCTIONS
from gradiva.ops.math.promotion import UNARY_FLOAT as UNARY_FUNCTIONS

from .pictures import Array
from .reference import DTYPES, NAMES, REFUSALS
from .test_arithmetic import BINARY, LESS, UNARY, with_its_defect

ndd = pytest.importorskip("nvidia.dali.experimental.dynamic")

KINDS: dict[str, Callable[[Any, Array], Any]] = {
    "batch": lambda library, array: library.batch([array, array]),
    "tensor": lambda library, array: library.tensor(array),
    "array": lambda library, array: array,
}
ORDER = (
    ("batch", "batch"), ("batch", "tensor"), ("tensor", "batch"), ("batch", "array"),
    ("tensor", "tensor"), ("tensor", "array"),
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    True,
    2,
    -1,
    2.5,
    np.uint8(3),
    np.int64(2),
    np.float32(0.5),
    np.float64(3),
)


def small(name: str, shift: int) -> Array:
    """Numbers that every dtype holds, none of which is 0: dividing by 0 is another test's."""
    return ((np.arange(6) + shift) % 5 + 1).astype(DTYPES[name].numpy)


def arrays(value: Any) -> list[Array]:
    """The samples of a result of either library, computed now."""
    value = value.evaluate()
    parts = value.tensors if hasattr(value, "batch_size") else [value]
    return [np.asarray(part) for part in parts]


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], fix: Any, where: str) -> None:
    """Both give the same kind, dtypes, shapes and values, or both refuse."""
    try:
        their = theirs()
        expected = arrays(their)
    except (*REFUSALS, OverflowError):
        with pytest.raises(GradivaError):
            pytest.fail(f"{where}: {ours()!r}")
        return
    result = ours()
    assert type(result).__name__ == type(their).__name__, where
    assert (result.layout or None) == their.layout, where
    for made, wanted in zip(arrays(result), expected, strict=True):
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape), where
        if made.dtype.kind == "f":
            np.testing.assert_allclose(made, wanted, 1e-6, err_msg=where)
        else:
            np.testing.assert_array_equal(fix(made), wanted, where)


@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str) -> None:
    apply = BINARY[op]
    for left, right in itertools.product(NAMES, NAMES):
        if "float16" in (left, right):
            continue  # see test_half
        a, b = small(left, 0), small(right, 2)
        for first, second in ORDER:
            compare(
                lambda: apply(KINDS[first](gradiva, a), KINDS[second](gradiva, b)),
                lambda: apply(KINDS[first](ndd, a), KINDS[second](ndd, b)),
                lambda made: with_its_defect(op, a, b, made),
                f"{first} {left} {op} {second} {right}",
            )


@pytest.mark.parametrize("op", BINARY)
def test_numbers(op: str) -> None:
    apply = BINARY[op]
    for name, number in itertools.product(NAMES, NUMBERS):
        if name == "float16":
            continue
        a = small(name, 0)
        kind = {bool: "?", int: "i4", float: "f4"}.get(type(number))
        b = np.array(number, kind)
        for one in ("batch", "tensor"):
            compare(
                lambda: apply(KINDS[one](gradiva, a), number),
                lambda: apply(KINDS[one](ndd, a), number),
                lambda made: with_its_defect(op, a, b, made),
                f"{one} {name} {op} {number!r}",
            )
            if not isinstance(number, np.generic):
                compare(
                    lambda: apply(number, KINDS[one](gradiva, a)),
                    lambda: apply(number, KINDS[one](ndd, a)),
                    lambda made: with_its_defect(op, b, a, made),
                    f"{number!r} {op} {one} {name}",
                )


@pytest.mark.parametrize("op", [*UNARY, "abs", "math.abs"])
def test_unary(op: str) -> None:
    for name, one in itertools.product(NAMES, ("batch", "tensor")):
        if name == "float16" and op != "~":
            continue
        a = small(name, 0)

        def call(library: Any) -> Any:
            value = KINDS[one](library, a)
            return library.math.abs(value) if op == "math.abs" else UNARY[op](value)

        compare(lambda: call(gradiva), lambda: call(ndd), np.asarray, f"{op} {one} {name}")


@pytest.mark.parametrize("function", [*UNARY_FUNCTIONS, *BINARY_FUNCTIONS, "pow", "clamp"])
def test_functions(function: str) -> None:
    count = 1 if function in UNARY_FUNCTIONS else 3 if function == "clamp" else 2
    names = [name for name in NAMES if name != "float16"]
    kinds = ("batch", "tensor", "array")
    for index, chosen in enumerate(itertools.product(names, repeat=min(count, 2))):
        values = [small(name, 2 * k) for k, name in enumerate((*chosen, "int16")[:count])]
        if function in ("asin", "acos", "atanh"):
            values = [np.minimum(value, value.dtype.type(1)) for value in values]
        if function == "atanh":
            values = [value - value if value.dtype.kind != "b" else value for value in values]
        for first in kinds[index % 2 : index % 2 + 2]:
            operands = [(first, values[0]), *(("tensor", value) for value in values[1:])]

            def call(library: Any) -> Any:
                given = [KINDS[kind](library, value) for kind, value in operands]
                return getattr(library.math, function)(*given)

            compare(
                lambda: call(gradiva), lambda: call(ndd), np.asarray, f"{function} {first} {chosen}"
            )


@pytest.mark.parametrize("op", BINARY)
def test_half(op: str) -> None:
    """DALI computes nothing in float16; ours does what it does in float32, rounded."""
    a, b = small("float16", 0), small("float16", 2)
    with pytest.raises(REFUSALS):
        arrays(BINARY[op](ndd.tensor(a), ndd.tensor(b)))
    if op in ("&", "|", "^", "<<", ">>"):
        with pytest.raises(GradivaError):
            BINARY[op](gradiva.tensor(a), gradiva.tensor(b))
        return
    made = np.asarray(BINARY[op](gradiva.tensor(a), gradiva.tensor(b)))
    single = BINARY[op](gradiva.tensor(a, dtype="float32"), gradiva.tensor(b, dtype="float32"))
    assert made.dtype == (np.bool_ if op in LESS else np.float16)
    np.testing.assert_array_equal(made, np.asarray(single).astype(made.dtype))


def test_layouts_and_shapes() -> None:
    images = np.ones((2, 4, 5, 3), np.uint8)
    forms: list[Callable[[Any], Any]] = [
        lambda m: m.batch(images, layout="HWC") + m.tensor([1, 2, 3], layout="C"),
        lambda m: m.batch(images, layout="HWC") + np.ones((5, 1), np.uint8),
        lambda m: m.tensor(images[0], layout="HWC") * m.tensor(2),
        lambda m: m.tensor([1, 2], layout="W") + m.tensor([1, 2], layout="H"),
        lambda m: m.batch([[1, 2], [3]]) - m.batch([1, 2]),
        lambda m: m.batch([[1, 2], [3, 4]]) + [1, 2],
        lambda m: m.tensor([1, 2]) + (1, 2),
        lambda m: m.batch([[1, 2], [3]]) + m.batch([[1, 2, 3], [4]]),
        lambda m: m.batch([1, 2]) + m.batch([1, 2, 3]),
        lambda m: m.tensor(1) + None,
        lambda m: m.tensor(1) + "a",
        lambda m: m.tensor(1) + 2**40,
    ]
    for number, form in enumerate(forms):
        compare(lambda: form(gradiva), lambda: form(ndd), np.asarray, f"form {number}")
