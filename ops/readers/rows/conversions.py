"""From a value of a row to an array of the type that is asked for: the one rule of all readers of
rows.

Numbers are converted as in `fitting.py`. A text is its bytes, or, where a type of numbers other
than uint8 is asked for, the number that it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.bfloat16 import is_bfloat16

from .fitting import NO_NUMBER, fitted, misfit

__all__ = ["DoubtfulError", "as_array"]

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = bool | int | float | Decimal

_EXACT: Final = 2.0**53
"""From here on not all whole numbers are numbers of float64."""
_DIGITS: Final = 20
"""No integer type holds numbers of more digits."""
_HOLDING: Final = frozenset((op.float32, op.float64))
"""Types in which no number below becomes infinite."""
_WORDS: Final = {"True": True, "true": True, "TRUE": True} | dict.fromkeys(
    ("False", "false", "FALSE"), False
)


class DoubtfulError(Exception):
    """A number of float64 in place of one that a text says with more digits."""


def as_array(value: Any, dtype: op.DType | None, plain: bool = False, doubt: bool = False) -> Array:
    """A value of a row. Text and bytes become uint8, 1-D. plain: it comes from a text, where
    numbers have no types: they become int64 or float32. doubt: raise DoubtfulError for a number
    that float64 may not hold as it was said. Raises SampleDataError."""
    kind = type(value)
    if kind is np.ndarray:
        return _of_array(value, dtype)
    if kind is float:
        if -_EXACT < value < _EXACT and (dtype is None or dtype in _HOLDING):
            return np.array(value, np.float32 if plain and dtype is None else _type(dtype))
        if doubt and abs(value) >= _EXACT:
            raise DoubtfulError
        return _of_number(value, dtype, plain)
    if kind is int or kind is bool:
        return _of_number(value, dtype, plain)
    if value is None:
        raise op.SampleDataError("there is no value")
    if isinstance(value, str):
        if dtype is None or dtype is op.uint8:
            return np.frombuffer(value.encode("utf-8", "surrogatepass"), np.uint8)
        return as_array(_said(value, dtype), dtype, plain)
    if isinstance(value, bytes | bytearray):
        return _of_bytes(value, dtype)
    if isinstance(value, list | tuple):
        return _of_list(value, dtype, plain, doubt)
    if isinstance(value, Decimal):
        return _of_number(value, dtype, plain)
    if isinstance(value, memoryview) and value.format == "B":
        return _of_bytes(value, dtype)
    if isinstance(value, np.void) and value.dtype.names is None:
        return _of_bytes(value.tobytes(), dtype)
    return _of_array(_converted(value), dtype)


def _of_array(found: Array, dtype: op.DType | None) -> Array:
    """An array of NumPy's as a value. Raises SampleDataError."""
    if found.dtype.kind not in "biuf" and not is_bfloat16(found.dtype):
        if found.dtype.kind == "O" and found.ndim:
            return _exact(found, dtype)
        value = found.item() if not found.ndim else None
        if isinstance(value, str | bytes | bytearray | Decimal | int):
            return as_array(value, dtype)
        raise op.SampleDataError(NO_NUMBER, expected="numbers", got=f"an array of {found.dtype}")
    if dtype is not None:
        return fitted(found, dtype)
    if found.dtype.itemsize > 8:
        raise op.SampleDataError(
            "a type of numbers that no output has", expected="at most 64 bits", got=found.dtype.name
        )
    return found


def _converted(value: Any) -> Array:
    """What NumPy makes of an object of another library. Raises SampleDataError."""
    try:
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise op.SampleDataError("an array lacks a value: it is masked")
        return np.asarray(value)
    except (op.SampleDataError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  whatever the object of another library raises
        reason = f"{type(value).__name__} is no array: {type(error).__name__}: {error}"
        raise op.SampleDataError(reason) from None


def _type(dtype: op.DType | None) -> np.dtype[Any]:
    return op.float64.numpy if dtype is None else dtype.numpy


@cache
def _limits(dtype: op.DType) -> tuple[int, int]:
    """The least and the largest whole number of a type."""
    if dtype.is_bool:
        return 0, 1
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def _of_bytes(value: Any, dtype: op.DType | None) -> Array:
    if dtype is None or dtype is op.uint8:
        return np.frombuffer(value, np.uint8)
    raise op.SampleDataError(
        "bytes are no numbers", expected="uint8 for such a column", got=dtype.name
    )


def _said(text: str, dtype: op.DType) -> Number:
    """The number that a text says. Raises SampleDataError."""
    word = text.strip()
    value: Number | None = _WORDS.get(word)
    if value is None and "_" not in word:  # which Python passes over
        if not dtype.is_float:
            value = _read(int, word)
            if value is None:
                value = _read(Decimal, word)
        else:
            value = _read(float, word)
            if value is not None and math.isinf(value) and "n" not in word.lower():
                raise misfit(word, dtype)
    if value is None:
        raise op.SampleDataError("a text that is no number", expected=dtype.name, got=text[:40])
    return value


def _read(kind: Callable[[str], Number], word: str) -> Number | None:
    try:
        return kind(word)
    except (ValueError, InvalidOperation):
        return None


def _of_number(value: Number, dtype: op.DType | None, plain: bool) -> Array:
    """A number of Python's. Raises SampleDataError."""
    if dtype is None:
        if isinstance(value, bool):
            return np.array(value)
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return np.array(value, np.int64)
            return _default_integers([value], plain).reshape(())
        return _default_floats(np.array(_as_float(value, op.float64)), plain)
    return np.array(_checked(value, dtype), dtype.numpy)


def _checked(value: Number, dtype: op.DType) -> Any:
    """The number as one of this type. Raises SampleDataError."""
    if not dtype.is_float:
        whole = int(value) if isinstance(value, int) else _whole(value)
        low, high = _limits(dtype)
        if whole is None or not low <= whole <= high:
            raise misfit(value, dtype)
        return whole
    number = _as_float(value, dtype)
    return number if dtype is op.float64 else fitted(np.array(number), dtype)


def _as_float(value: Number, dtype: op.DType) -> float:
    """The nearest number of float64, on the way to a type. Raises SampleDataError."""
    try:
        number = float(value)
    except OverflowError:
        raise misfit(value, dtype) from None
    if isinstance(value, Decimal) and value.is_finite() and math.isinf(number):
        raise misfit(value, dtype)
    return number


def _whole(value: float | Decimal) -> int | None:
    """The whole number that this is, if it is one that a type may hold."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if not value.is_finite() or value.adjusted() > _DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def _default_integers(values: Sequence[int], plain: bool) -> Array:
    """Whole numbers for which no type is asked for. Raises SampleDataError."""
    low, high = min(values), max(values)
    if low >= -(2**63) and high < 2**63:
        return np.array(values, np.int64)
    if plain or low < 0 or high >= 2**64:
        raise op.SampleDataError(
            "a value that is no number of int64",
            expected="`dtypes` that hold it, such as uint64",
            got=str(high if high >= 2**63 else low)[:40],
        )
    return np.array(values, np.uint64)


def _default_floats(found: Array, plain: bool) -> Array:
    if not plain:
        return found
    try:
        return fitted(found, op.float32)
    except op.SampleDataError as error:
        error.expected = "float32, or `dtypes` that hold it, such as float64"
        raise


def _of_list(value: Any, dtype: op.DType | None, plain: bool, doubt: bool) -> Array:
    """A list of numbers, or of lists. Raises SampleDataError, DoubtfulError."""
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError):
        raise op.SampleDataError("lists of several lengths are no array") from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  whatever the objects in it raise
        reason = f"a list that is no array: {type(error).__name__}: {error}"
        raise op.SampleDataError(reason) from None
    kind = found.dtype.kind
    if kind == "O":
        return _exact(found, dtype, plain)
    if kind == "f" and found.size:
        small = bool(np.abs(found).max() < _EXACT)
        if small and dtype is None:
            return found.astype(np.float32) if plain else found
        if small and dtype in _HOLDING:
            return found.astype(_type(dtype))
        # Among fractions NumPy rounds whole numbers, some of which float64 does not hold.
        if not small and doubt:
            raise DoubtfulError
        if not small and (dtype is None or not dtype.is_float):
            return _exact(np.array(value, object), dtype, plain)
    if kind == "u" and dtype is None:
        return _default_integers(found.reshape(-1).tolist(), plain).reshape(found.shape)
    if dtype is not None or kind not in "biuf":
        return _of_array(found, dtype)
    return _default_floats(found, plain) if kind == "f" else found


def _exact(found: Array, dtype: op.DType | None, plain: bool = False) -> Array:
    """An array of numbers of Python's, of which NumPy's usual types do not hold some. Raises
    SampleDataError."""
    values = [
        one.item() if isinstance(one, np.generic) else one for one in found.reshape(-1).tolist()
    ]
    for one in values:
        if one is None:
            raise op.SampleDataError("a list lacks a value")
        if not isinstance(one, int | float | Decimal):
            raise op.SampleDataError(NO_NUMBER, expected="numbers", got=type(one).__name__)
    if dtype is not None:
        made = np.array([_checked(one, dtype) for one in values], dtype.numpy)
    elif all(isinstance(one, int) for one in values) and values:
        made = _default_integers(values, plain)
    else:
        made = _default_floats(np.array([_as_float(one, op.float64) for one in values]), plain)
    return made.reshape(found.shape)
