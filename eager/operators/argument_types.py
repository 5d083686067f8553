"""Kinds of arguments: how what a user wrote is checked, and becomes a plain value.

The name of a kind is the annotation of an argument in the signature of its operator.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from dataclasses import dataclass
from os import fspath
from typing import Any

import numpy as np

from gradiva.eager.support.layouts import check_layout
from gradiva.eager.types.dtypes import DType, ImageType, InterpType

__all__ = ["ARGUMENT_TYPES", "ArgumentType"]


def _integer(value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        return int(value)
    number = python.index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError
    return number


def _real(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError
    return float(value)


_LARGEST = float(np.finfo(np.float32).max)


def _single(value: Any) -> float:
    """A number for kernels, which compute in float32: what is too large for it is infinite."""
    number = _real(value)
    if number > _LARGEST:
        return float("inf")
    return float("-inf") if number < -_LARGEST else number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> str:
    return _text(fspath(value))


def _policy(value: Any) -> str:
    if _text(value) not in ("raise", "skip", "replace"):
        raise ValueError
    return str(value)


def _vector(convert: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def convert_all(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str) or np.ndim(value) == 0:
            return (convert(value),)
        return tuple(convert(item) for item in value)

    return convert_all


def _enumeration(kind: type[ImageType] | type[InterpType]) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, bool | float):
            raise TypeError
        return kind(python.index(value))

    return convert


@dataclass(frozen=True, slots=True)
class ArgumentType:
    """How one kind of argument is written, checked and stored.

    expected: for error messages; convert: from what the user wrote to a hashable value;
    element: dtype of the rows if it may be given per sample; vector: a row holds several values;
    ragged: how many may differ between samples: kernels see a list with a 1-D array per sample;
    matrix: a row may have two axes, and an array of two axes is one matrix for all samples;
    shaped: per sample it is an array of any shape, and kernels see the batch of these.
    """

    expected: str
    convert: Callable[[Any], Any]
    element: type | None = None
    vector: bool = False
    ragged: bool = False
    matrix: bool = False
    shaped: bool = False


ARGUMENT_TYPES: dict[str, ArgumentType] = {
    "Any": ArgumentType("a value", lambda value: value),
    "int": ArgumentType("an integer", _integer),
    "float": ArgumentType("a number", _real),
    "bool": ArgumentType("True or False", _boolean),
    "str": ArgumentType("a string", _text),
    "OnError": ArgumentType("'raise', 'skip' or 'replace'", _policy),
    "Ints": ArgumentType("an integer or several", _vector(_integer)),
    "Floats": ArgumentType("a number or several", _vector(_real)),
    "Strings": ArgumentType("a string or several", _vector(_text)),
    "Path": ArgumentType("a path", _path),
    "Paths": ArgumentType("a path or several", _vector(_path)),
    "Layout": ArgumentType("a layout such as 'HWC'", check_layout),
    "DTypeLike": ArgumentType("an element type such as gradiva.uint8", DType.of),
    "ImageType": ArgumentType("an image type such as types.RGB", _enumeration(ImageType)),
    "IntArg": ArgumentType("an integer, or one per sample", _integer, np.int64),
    "FloatArg": ArgumentType("a number, or one per sample", _single, np.float32),
    "FloatArrayArg": ArgumentType(
        "a number, or an array per sample", _single, np.float32, shaped=True
    ),
    "IntsArg": ArgumentType("integers, or a row per sample", _vector(_integer), np.int64, True),
    "FloatsArg": ArgumentType("numbers, or a row per sample", _vector(_single), np.float32, True),
    "MatrixArg": ArgumentType(
        "a matrix as numbers row by row, or one per sample",
        _vector(_single),
        np.float32,
        True,
        matrix=True,
    ),
    "InterpType": ArgumentType(
        "an interpolation such as types.INTERP_LINEAR", _enumeration(InterpType)
    ),
    "RaggedIntsArg": ArgumentType(
        "integers, or some per sample", _vector(_integer), np.int64, True, ragged=True
    ),
    "RaggedFloatsArg": ArgumentType(
        "numbers, or some per sample", _vector(_single), np.float32, True, ragged=True
    ),
    "InterpArg": ArgumentType(
        "an interpolation such as types.INTERP_LINEAR, or one per sample",
        _enumeration(InterpType),
        np.int64,
    ),
}
