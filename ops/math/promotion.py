"""Result types, shapes and layouts of arithmetic operators.

There is no "weak" scalar type: a Python scalar has a fixed type (bool -> bool, int -> int32,
float -> float32) and then promotes like an array of that type. Eager and pipeline mode agree.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

DType = np.dtype[Any]

ARITHMETIC: Final = frozenset({"+", "-", "*", "//", "%", "**", "min", "max", "clamp"})
FLOATING: Final = frozenset({"/", "fpow", "atan2"})
BITWISE: Final = frozenset({"&", "|", "^", "<<", ">>"})
COMPARISON: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
UNARY_SAME: Final = frozenset({"neg", "abs"})
UNARY_FLOAT: Final = {
    "fabs": "Compute the absolute value |x| as a float.",
    "sqrt": "Compute the square root, correctly rounded; NaN below 0.",
    "rsqrt": "Compute 1 / sqrt(x): infinite at 0, NaN below.",
    "cbrt": "Compute the cube root, with the sign of x.",
    "exp": "Compute e to the power of x.",
    "log": "Compute the natural logarithm; minus infinity at 0, NaN below.",
    "log2": "Compute the logarithm to base 2; minus infinity at 0, NaN below.",
    "log10": "Compute the logarithm to base 10; minus infinity at 0, NaN below.",
    "sin": "Compute the sine of x radians.",
    "cos": "Compute the cosine of x radians.",
    "tan": "Compute the tangent of x radians.",
    "asin": "Compute the arc sine in radians; NaN outside of -1..1.",
    "acos": "Compute the arc cosine in radians; NaN outside of -1..1.",
    "atan": "Compute the arc tangent in radians, from -pi/2 to pi/2.",
    "sinh": "Compute the hyperbolic sine.",
    "cosh": "Compute the hyperbolic cosine.",
    "tanh": "Compute the hyperbolic tangent.",
    "asinh": "Compute the inverse hyperbolic sine.",
    "acosh": "Compute the inverse hyperbolic cosine; NaN below 1.",
    "atanh": "Compute the inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.",
    "ceil": "Round up: the least whole number that is not below x, as a float.",
    "floor": "Round down: the greatest whole number that is not above x, as a float.",
}
"""Functions of real numbers, and what they are."""

_BOOL: Final = np.dtype(np.bool_)
_INT32: Final = np.dtype(np.int32)
_FLOAT16: Final = np.dtype(np.float16)
_FLOAT32: Final = np.dtype(np.float32)
_SIGNED: Final = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def scalar_dtype(value: bool | int | float | np.generic) -> DType:
    """The type of a scalar operand; NumPy scalars keep their own type."""
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, bool):
        return _BOOL
    if isinstance(value, int):
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"the integer {value} is out of the range of int32")
        return _INT32
    if isinstance(value, float):
        return _FLOAT32
    raise TypeError(f"expected a bool, int or float, got {type(value).__name__}")


def promote(a: DType, b: DType) -> DType:
    """The common type of two operands."""
    if a.kind == "f" or b.kind == "f":
        if a.kind == b.kind:
            return a if a.itemsize >= b.itemsize else b
        return a if a.kind == "f" else b
    if a.kind == "b" or b.kind == "b":
        return b if a.kind == "b" else a
    if a.kind == b.kind:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    # The next larger signed type holds both; beyond 64 bits there is none, so uint64 wraps.
    return _SIGNED[min(unsigned.itemsize * 2, 8)]


def result_dtype(op: str, *operands: DType | bool | int | float, half: bool = False) -> DType:
    """The type of `op` applied to operands, each a dtype or a scalar.

    `op` is one of the sets above, or "pos" / "~". float16 is refused, as DALI does on
    the CPU, unless `half` is given: then it promotes like any other floating type.
    Raises TypeError for types that the operator does not take.
    """
    types = [x if isinstance(x, np.dtype) else scalar_dtype(x) for x in operands]
    if op == "pos":
        return types[0]
    for position, dtype in enumerate(types):
        if dtype == _FLOAT16 and not half:
            raise TypeError(f"`{op}` takes no float16 on the CPU, which operand {position} is")
    common = types[0]
    for dtype in types[1:]:
        common = promote(common, dtype)
    if op in COMPARISON:
        return _BOOL
    if op in BITWISE or op == "~":
        if common.kind == "f":
            raise TypeError(f"`{op}` takes integers and booleans, not {common}")
        return common
    # The product of booleans is their conjunction; other arithmetic on them is refused.
    if common == _BOOL and op != "*":
        raise TypeError(f"`{op}` takes numbers, but all operands are booleans")
    if op in FLOATING or op in UNARY_FLOAT:
        return common if common.kind == "f" else _FLOAT32
    if op in ARITHMETIC or op in UNARY_SAME:
        return common
    raise ValueError(f"there is no arithmetic operator `{op}`")


def result_layout(ndim: int, *layouts: str) -> str:
    """The layout of a result of rank `ndim`: that of the operands, if it describes all axes.

    A layout must be a suffix of the longest one; empty layouts agree with all.
    """
    longest = max(layouts, key=len)
    for layout in layouts:
        if not longest.endswith(layout):
            raise ValueError(
                f"the layouts {layout!r} and {longest!r} do not match: one must end with the other"
            )
    return longest if len(longest) == ndim else ""
