"""The values of arithmetic operators on NumPy arrays: C semantics with wrap-around.

NumPy's ufuncs release the GIL and work in strips, so no kernel of our own is needed, with two
exceptions: what is large and becomes floats (`numbers.py`), and the elementary functions of float32
and float16, whose last bits depend on the CPU in NumPy (`elementary.py`). The semantics that
differ from Python's: integer `//` and `%` truncate toward zero, floating `//` is plain division (no
floor), floating `%` is C's fmod, and an integer to a negative power is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from gradiva.eager.types.arrays import Array

from .elementary_kernels import KERNELS, fill_float32
from .numbers import fill_with_number
from .promotion import COMPARISON, promote, result_dtype

_STRIP: Final = 1 << 16
"""Elements."""
_BYTES: Final = 1 << 20
"""Of a strip for which little is done: between two of them a thread waits for the interpreter."""

_PLAIN: Final[dict[str, np.ufunc]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "atan2": np.arctan2,
}
_COMPARE: Final[dict[str, np.ufunc]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_UNARY: Final[dict[str, np.ufunc]] = {
    "neg": np.negative, "abs": np.absolute, "~": np.invert, "pos": np.positive,
    "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp,
    "log": np.log, "log2": np.log2, "log10": np.log10, "fabs": np.fabs, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh,
}  # fmt: skip


def evaluate(op: str, a: Array, b: Array, out: Array | None = None) -> Array:
    """`a op b` for one sample; scalars come as 0-D arrays of their `scalar_dtype`.

    `out`, where given, has the result's dtype and broadcast shape. Raises ValueError for an
    integer division by zero.
    """
    dtype = result_dtype(op, a.dtype, b.dtype, half=True)
    if out is None:
        out = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype)
    with np.errstate(all="ignore"):
        if op in COMPARISON:
            _compare(op, a, b, out)
        elif op in KERNELS and dtype.kind == "f" and dtype.itemsize <= 4:
            _elementary(op, out, a, b)
        elif op in ("//", "%") and dtype.kind != "f":
            _integer_division(op, a, b, out)
        elif op == "%" and a.dtype.kind != b.dtype.kind:
            # C++'s fmod of an integer and a float works in double, rounding once at the end.
            np.copyto(out, np.fmod(a, b, dtype=np.float64), casting="unsafe")
        elif op == "//":
            np.divide(a, b, out=out, dtype=dtype, casting="unsafe")
        elif op in ("**", "fpow"):
            _power(a, b, out)
        elif op in ("<<", ">>"):
            _shift(op, a, b, out)
        elif op in ("min", "max"):
            _extremum(op, a, b, out)
        elif not fill_with_number(op, a, b, out):
            _PLAIN[op](a, b, out=out, dtype=dtype, casting="unsafe")
    return out


def evaluate_unary(op: str, a: Array, out: Array | None = None) -> Array:
    """`op a` for one sample; "pos" copies any type."""
    dtype = result_dtype(op, a.dtype, half=True)
    if out is None:
        out = np.empty(a.shape, dtype)
    with np.errstate(all="ignore"):
        if op == "pos" or (op == "abs" and dtype.kind == "u"):
            np.copyto(out, a)
        elif op in KERNELS and dtype.itemsize <= 4:
            _elementary(op, out, a)
        elif dtype == np.float16 and op not in ("neg", "abs"):
            # Some of NumPy's float16 loops round differently in vectors and in what is left over;
            # its float32 loops do not, so that a value does not depend on its place.
            np.copyto(out, evaluate_unary(op, a.astype(np.float32)), casting="unsafe")
        elif op == "rsqrt":
            np.sqrt(a, out=out, dtype=dtype, casting="unsafe")
            np.divide(dtype.type(1), out, out=out)
        else:
            _UNARY[op](a, out=out, dtype=dtype, casting="unsafe")
    return out


def _elementary(op: str, out: Array, *operands: Array) -> None:
    """Fill float32 or float16 with an elementary function of operands of any dtypes."""
    if out.dtype == np.float32:
        fill_float32(op, out, *operands)
        return
    wide = np.empty(out.shape, np.float32)
    fill_float32(op, wide, *(one.astype(out.dtype, copy=False) for one in operands))
    np.copyto(out, wide, casting="unsafe")


def clamp(value: Array, low: Array, high: Array, out: Array | None = None) -> Array:
    """min(max(value, low), high) in the common type; NaN passes, `high` wins if low > high."""
    dtype = result_dtype("clamp", value.dtype, low.dtype, high.dtype, half=True)
    if out is None:
        shape = np.broadcast_shapes(value.shape, low.shape, high.shape)
        return clamp(value, low, high, np.empty(shape, dtype))
    if dtype.kind != "f" and low.ndim == high.ndim == 0:
        bottom, top = int(low.astype(dtype)), int(high.astype(dtype))
        if _narrower(value, bottom, top, dtype):
            _clamp_narrow(value, bottom, top, out)
            return out
    for x, lo, hi, result in _strips(value, low, high, out):
        if dtype.kind != "f":
            if lo.ndim == hi.ndim == 0:
                # NumPy has vectors for this, not for the extremes of an array and one number.
                np.copyto(result, x, casting="unsafe")
                np.clip(result, lo.astype(dtype), hi.astype(dtype), out=result)
                continue
            np.maximum(x, lo, out=result, dtype=dtype, casting="unsafe")
            np.minimum(result, hi, out=result, dtype=dtype, casting="unsafe")
            continue
        # NumPy's own extremes treat NaN and zeros in other ways.
        same, least, most = (one.astype(dtype, copy=False) for one in (x, lo, hi))
        raised = np.where(same < least, least, same)
        np.copyto(result, np.where(raised > most, most, raised))
    return out


def _narrower(value: Array, low: int, high: int, dtype: np.dtype[Any]) -> bool:
    """Whether the results are all numbers of the value's own dtype, which takes fewer bytes."""
    if value.dtype.kind not in "iu" or value.dtype.itemsize >= dtype.itemsize:
        return False
    limits = np.iinfo(value.dtype)
    return low <= limits.max and high >= limits.min


def _clamp_narrow(value: Array, low: int, high: int, out: Array) -> None:
    limits, dtype = np.iinfo(value.dtype), value.dtype
    least, most = dtype.type(max(low, limits.min)), dtype.type(min(high, limits.max))
    for x, result in _strips(value, out, size=_BYTES // dtype.itemsize):
        np.copyto(result, np.clip(x, least, most))


def _strips(*arrays: Array, size: int = _STRIP) -> Iterator[tuple[Array, ...]]:
    """Flat arrays (the last one, and others of its size or of no axes) in short pieces, whose
    intermediate results stay in cache; arrays of more axes at once. size: elements of a piece."""
    count = arrays[-1].size
    if arrays[-1].ndim != 1 or not all(one.ndim == 0 or one.size == count for one in arrays):
        yield arrays
        return
    for first in range(0, count, size):
        yield tuple(one[first : first + size] if one.ndim else one for one in arrays)


def _compare(op: str, a: Array, b: Array, out: Array) -> None:
    # Integers compare by value whatever their signs (NumPy does so too); an integer and a
    # float compare after conversion to the float's type, so 2**24 + 1 == float32(2**24).
    # DALI has a defect that is not kept: there, a negative integer is less than every
    # float (-5.0 > -1 gives True).
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        common = promote(a.dtype, b.dtype)
        a = a.astype(common, copy=False)
        b = b.astype(common, copy=False)
    _COMPARE[op](a, b, out=out)


def _integer_division(op: str, a: Array, b: Array, out: Array) -> None:
    dtype = out.dtype
    if out.size and not b.astype(dtype, copy=False).all():
        raise ValueError("integer division by zero")
    if op == "%":
        np.fmod(a, b, out=out, dtype=dtype, casting="unsafe")
    elif dtype.kind == "u":
        np.floor_divide(a, b, out=out, dtype=dtype, casting="unsafe")
    else:
        # Taking the C remainder off first leaves an exact quotient, where floor == truncate.
        remainder = np.fmod(a, b, dtype=dtype, casting="unsafe")
        np.subtract(a, remainder, out=out, dtype=dtype, casting="unsafe")
        np.floor_divide(out, b, out=out, dtype=dtype, casting="unsafe")


def _power(a: Array, b: Array, out: Array) -> None:
    dtype = out.dtype
    exponent = b.astype(dtype, copy=False)
    if dtype.kind == "f":
        _float_power(a.astype(dtype, copy=False), exponent, out)
        return
    if dtype.kind != "i":
        np.power(a, exponent, out=out, dtype=dtype, casting="unsafe")
        return
    # NumPy refuses negative integer powers; DALI gives 0, for bases 1 and -1 too.
    np.power(a, np.maximum(exponent, 0), out=out, dtype=dtype, casting="unsafe")
    np.copyto(out, dtype.type(0), where=exponent < 0)


def _float_power(a: Array, exponent: Array, out: Array) -> None:
    # NumPy has short ways for some exponents, which it takes or not by how the arrays lie in
    # memory, with other bits. Taken for each element, they make a value independent of its place.
    if exponent.ndim == 0 and float(exponent) in _SHORT:
        np.copyto(out, _SHORT[float(exponent)](a))
        return
    np.power(a, exponent, out=out)
    if exponent.ndim:
        for special, short in _SHORT.items():
            here = exponent == special
            if here.any():
                np.copyto(out, short(a), where=here)


def _root(a: Array) -> Array:
    """C's pow(a, 0.5): positive for -0 and minus infinity, where a square root is not."""
    return np.where(np.isneginf(a), np.abs(a), np.sqrt(a + a.dtype.type(0)))


_SHORT: Final[dict[float, Callable[[Array], Array]]] = {
    2.0: np.square,
    1.0: np.positive,
    0.5: _root,
    -1.0: np.reciprocal,
}


def _shift(op: str, a: Array, b: Array, out: Array) -> None:
    # C shifts narrow types as int32 and the hardware masks the count; NumPy would give 0.
    wide = out.dtype if out.dtype.itemsize >= 4 else np.dtype(np.int32)
    count = b.astype(out.dtype, copy=False).astype(wide, copy=False)
    count = np.bitwise_and(count, wide.type(wide.itemsize * 8 - 1))
    value = a.astype(out.dtype, copy=False).astype(wide, copy=False)
    shifted = np.left_shift(value, count) if op == "<<" else np.right_shift(value, count)
    np.copyto(out, shifted, casting="unsafe")


def _extremum(op: str, a: Array, b: Array, out: Array) -> None:
    if out.dtype.kind != "f":
        pick = np.minimum if op == "min" else np.maximum
        pick(a, b, out=out, dtype=out.dtype, casting="unsafe")
        return
    # Not np.minimum: where the operands do not compare (NaN) or are equal (0.0 and -0.0), the
    # second one is the result.
    for left, right, result in _strips(a, b, out):
        x = left.astype(out.dtype, copy=False)
        y = right.astype(out.dtype, copy=False)
        np.copyto(result, np.where(x < y if op == "min" else x > y, x, y))
