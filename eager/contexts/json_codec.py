"""Conversion of Python values to JSON data and back, for checkpoints.

Reading such data does not execute anything. Types that JSON does not have are dicts with one key
that begins with `$`: tuples, bytes, NumPy arrays and scalars, dicts with keys other than strings.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe

_NUMERIC = "biufcMmSU"


def to_json_value(value: Any, what: str = "the state") -> Any:
    """A copy of `value` in lists, dicts, strings, numbers and None only.

    value: these, and tuples, bytes, and NumPy scalars and arrays that hold no Python objects.
    what: how errors call it. Raises OperatorTypeError, which names the place inside.
    """
    try:
        return _encode(value, what)
    except RecursionError:
        raise OperatorTypeError(
            f"{what} contains itself, or is nested too deeply to be saved"
        ) from None


def _encode(value: Any, what: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value, what)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list):
        return [_encode(item, f"{what}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, f"{what}[{index}]") for index, item in enumerate(value)]}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): _encode(item, f"{what}[{key!r}]") for key, item in value.items()}
        return {
            "$dict": [
                [_encode(key, f"a key of {what}"), _encode(item, f"{what}[{key!r}]")]
                for key, item in value.items()
            ]
        }
    raise OperatorTypeError(
        f"{what} cannot be saved",
        expected="None, bool, int, float, str, bytes, a list, tuple or dict of these, or a NumPy "
        "array",
        got=describe(value),
    )


def _encode_array(value: np.ndarray[Any, Any] | np.generic, what: str) -> Any:
    array = np.ascontiguousarray(value)
    if array.dtype.kind not in _NUMERIC:
        raise OperatorTypeError(
            f"{what} cannot be saved", expected="an array of numbers", got=f"dtype {array.dtype}"
        )
    # A scalar has no list of sizes; `ascontiguousarray` would give an array of rank 0 one.
    shape = None if isinstance(value, np.generic) else list(np.shape(value))
    return {"$array": [array.dtype.str, shape, base64.b64encode(array.tobytes()).decode("ascii")]}


def from_json_value(value: Any) -> Any:
    """The value that `to_json_value` has converted; mappings become dicts. Raises
    OperatorValueError."""
    try:
        return _decode(value)
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise OperatorValueError(f"this is no data of a checkpoint: {error}") from None


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((kind, held),) = value.items()
        if kind == "$tuple":
            return tuple(_decode(item) for item in held)
        if kind == "$bytes":
            return base64.b64decode(held, validate=True)
        if kind == "$dict":
            return {_decode(key): _decode(item) for key, item in held}
        if kind == "$array":
            return _decode_array(*held)
        if kind.startswith("$"):
            raise ValueError(f"the mark {kind!r} is not known")
    return {key: _decode(item) for key, item in value.items()}


def _decode_array(code: str, shape: list[int] | None, held: str) -> Any:
    dtype = np.dtype(code)
    if dtype.kind not in _NUMERIC:
        raise ValueError(f"an array of dtype {dtype}")
    flat = np.frombuffer(base64.b64decode(held, validate=True), dtype).copy()
    if shape is None and flat.size != 1:
        raise ValueError(f"a number of {flat.size} values")
    return flat[0] if shape is None else flat.reshape(shape)
