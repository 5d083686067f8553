"""Mathematical functions of batches, tensors, symbols, arrays and numbers, as users call them.

They run at once or are recorded, as any operator. What they have in common is told in
`mathematics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

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


F = TypeVar("F", bound=Callable[..., Any])


class _Function(Protocol):
    """A function of one operand."""

    def __call__(self, input: Operand) -> Any: ...


def _documented(function: F) -> F:
    """Decorator: documentation and signature of the function are those of its operator."""
    operator = functions[function.__name__]
    function.__doc__ = operator.__doc__
    function.__signature__ = operator.__signature__  # type: ignore[attr-defined]
    return function


def _function(name: str) -> _Function:
    """The function that calls the operator `math.<name>`."""
    operator = functions[name]

    def call(input: Operand) -> Any:
        return operator(input)

    call.__name__ = call.__qualname__ = name
    return _documented(call)


def abs(input: Operand) -> Any:
    """Compute the absolute value |x|, in the type of x; the least integer stays itself.

    Args:
        input: a batch, a tensor, an array or a number, of any rank and layout.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for booleans.

    Example:
        gradiva.math.abs(np.int32([7, -9]))  # [7, 9]
    """
    return arithmetic["abs"](input)


fabs, sqrt, rsqrt, cbrt, exp, log, log2, log10 = map(
    _function, ("fabs", "sqrt", "rsqrt", "cbrt", "exp", "log", "log2", "log10")
)
sin, cos, tan, asin, acos, atan = map(_function, ("sin", "cos", "tan", "asin", "acos", "atan"))


@_documented
def atan2(x: Operand, y: Operand) -> Any:  # as in C, the first operand is the ordinate
    return functions["atan2"](x, y)


sinh, cosh, tanh, asinh, acosh, atanh, ceil, floor = map(
    _function, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "ceil", "floor")
)


def pow(base: Operand, exponent: Operand) -> Any:
    """Compute `base ** exponent` in the common type; an integer to a negative power is 0.

    Args:
        base, exponent: batches, tensors, arrays or numbers, of any rank and layout.

    Returns:
        Samples of the broadcast shapes.

    Raises:
        OperatorTypeError: for booleans alone, and for layouts that differ.
        OperatorValueError: for shapes that do not broadcast, with the sample.

    Example:
        gradiva.math.pow(np.int32([7, 9]), 2)  # [49, 81]
    """
    return arithmetic["pow"](base, exponent)


@_documented
def fpow(base: Operand, exponent: Operand) -> Any:
    return functions["fpow"](base, exponent)


@_documented
def min(left: Operand, right: Operand) -> Any:
    return functions["min"](left, right)


@_documented
def max(left: Operand, right: Operand) -> Any:
    return functions["max"](left, right)


@_documented
def clamp(value: Operand, lo: Operand, hi: Operand) -> Any:
    return functions["clamp"](value, lo, hi)
