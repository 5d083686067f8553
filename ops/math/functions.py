"""Mathematical functions of batches, tensors, symbols, arrays and numbers, as users call them.

They run at once or are recorded, as any operator. What they have in common is told in
`mathematics`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from gradiva.eager.values.value import Value, arithmetic

from .mathematics import functions

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "exp",
    "fabs",
    "floor",
    "fpow",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

Operand: TypeAlias = (
    "Value | np.ndarray[Any, Any] | np.generic | float | list[Any] | tuple[Any, ...]"
)
"""A Batch, Tensor, symbol, array, number or list of numbers."""


class _Function(Protocol):
    """A function of one operand."""

    def __call__(self, input: Operand) -> Any: ...


def _function(name: str) -> _Function:
    """The function that calls the operator `math.<name>`."""
    operator = functions[name]

    def call(input: Operand) -> Any:
        return operator(input)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = operator.__doc__
    return call


def abs(input: Operand) -> Any:
    """|x|, in the type of x; the least integer stays itself."""
    return arithmetic["abs"](input)


fabs, sqrt, rsqrt, cbrt, exp, log, log2, log10 = map(
    _function, ("fabs", "sqrt", "rsqrt", "cbrt", "exp", "log", "log2", "log10")
)
sin, cos, tan, asin, acos, atan = map(_function, ("sin", "cos", "tan", "asin", "acos", "atan"))


def atan2(x: Operand, y: Operand) -> Any:
    """The angle whose tangent is x / y, in radians, in the quadrant that both signs give.

    As in C, whose arguments have other names, the first operand is the ordinate.
    """
    return functions["atan2"](x, y)


sinh, cosh, tanh, asinh, acosh, atanh, ceil, floor = map(
    _function, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "ceil", "floor")
)


def pow(base: Operand, exponent: Operand) -> Any:
    """`base ** exponent` in the common type; an integer to a negative power is 0."""
    return arithmetic["pow"](base, exponent)


def fpow(base: Operand, exponent: Operand) -> Any:
    """base to the power of exponent, as floats."""
    return functions["fpow"](base, exponent)


def min(left: Operand, right: Operand) -> Any:
    """The smaller value; `right` where they are equal or one is NaN."""
    return functions["min"](left, right)


def max(left: Operand, right: Operand) -> Any:
    """The larger value; `right` where they are equal or one is NaN."""
    return functions["max"](left, right)


def clamp(value: Operand, lo: Operand, hi: Operand) -> Any:
    """value, but at least lo and at most hi; hi where lo is greater than hi. NaN stays NaN."""
    return functions["clamp"](value, lo, hi)
