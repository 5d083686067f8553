"""Mathematical functions of batches, tensors, symbols, arrays and numbers, as users call them.

They run at once or are recorded, as any operator. What they have in common is told in
`mathematics`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

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


def abs(input: Operand) -> Any:
    """|x|, in the type of x; the least integer stays itself."""
    return arithmetic["abs"](input)


def fabs(input: Operand) -> Any:
    """|x| as a float."""
    return functions["fabs"](input)


def sqrt(input: Operand) -> Any:
    """Square root, correctly rounded; NaN below 0."""
    return functions["sqrt"](input)


def rsqrt(input: Operand) -> Any:
    """1 / sqrt(x): infinite at 0, NaN below."""
    return functions["rsqrt"](input)


def cbrt(input: Operand) -> Any:
    """Cube root, with the sign of x."""
    return functions["cbrt"](input)


def exp(input: Operand) -> Any:
    """e to the power of x."""
    return functions["exp"](input)


def log(input: Operand) -> Any:
    """Natural logarithm; minus infinity at 0, NaN below."""
    return functions["log"](input)


def log2(input: Operand) -> Any:
    """Logarithm to base 2; minus infinity at 0, NaN below."""
    return functions["log2"](input)


def log10(input: Operand) -> Any:
    """Logarithm to base 10; minus infinity at 0, NaN below."""
    return functions["log10"](input)


def sin(input: Operand) -> Any:
    """Sine of x radians."""
    return functions["sin"](input)


def cos(input: Operand) -> Any:
    """Cosine of x radians."""
    return functions["cos"](input)


def tan(input: Operand) -> Any:
    """Tangent of x radians."""
    return functions["tan"](input)


def asin(input: Operand) -> Any:
    """Arc sine in radians; NaN outside of -1..1."""
    return functions["asin"](input)


def acos(input: Operand) -> Any:
    """Arc cosine in radians; NaN outside of -1..1."""
    return functions["acos"](input)


def atan(input: Operand) -> Any:
    """Arc tangent in radians, from -pi/2 to pi/2."""
    return functions["atan"](input)


def atan2(x: Operand, y: Operand) -> Any:
    """The angle whose tangent is x / y, in radians, in the quadrant that both signs give.

    As in C, whose arguments have other names, the first operand is the ordinate.
    """
    return functions["atan2"](x, y)


def sinh(input: Operand) -> Any:
    """Hyperbolic sine."""
    return functions["sinh"](input)


def cosh(input: Operand) -> Any:
    """Hyperbolic cosine."""
    return functions["cosh"](input)


def tanh(input: Operand) -> Any:
    """Hyperbolic tangent."""
    return functions["tanh"](input)


def asinh(input: Operand) -> Any:
    """Inverse hyperbolic sine."""
    return functions["asinh"](input)


def acosh(input: Operand) -> Any:
    """Inverse hyperbolic cosine; NaN below 1."""
    return functions["acosh"](input)


def atanh(input: Operand) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside."""
    return functions["atanh"](input)


def ceil(input: Operand) -> Any:
    """The least whole number that is not below x, as a float."""
    return functions["ceil"](input)


def floor(input: Operand) -> Any:
    """The greatest whole number that is not above x, as a float."""
    return functions["floor"](input)


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
