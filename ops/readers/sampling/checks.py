"""What is given to samplers and buckets, checked."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.validation import integer

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


def digest(values: np.ndarray[Any, Any]) -> str:
    """An array as short text."""
    held = np.ascontiguousarray(values)
    return f"{len(held)} values {blake2b(held.tobytes(), digest_size=8).hexdigest()}"


def as_count(value: Any, argument: str) -> int | None:
    """A positive number, or None. Raises OperatorValueError, OperatorTypeError."""
    if value is None:
        return None
    return integer(value, 1, expected="a positive integer", bools=False, argument=argument)


def as_numbers(value: Any, argument: str) -> Floats:
    """Numbers from 0 on, at least one. Raises OperatorValueError, OperatorTypeError."""
    try:
        found = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise op.wrong_type(argument, "numbers", type(value).__name__) from None
    if found.ndim != 1 or not len(found):
        raise op.wrong_value(argument, "at least one number", f"an array of {found.shape}")
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise op.wrong_value(argument, "numbers from 0 on", f"{found[place]} at {place}")
    found.flags.writeable = False
    return found


def as_weights(value: Any, argument: str) -> Floats:
    """Numbers from 0 on, of which one is above 0. Raises OperatorValueError, OperatorTypeError."""
    weights = as_numbers(value, argument)
    if not weights.any():
        raise op.wrong_value(argument, "one that is above 0", f"{len(weights)} zeros")
    return weights


def as_labels(value: Any, size: int | None, argument: str = "labels") -> op.Int64Array:
    """A label for each sample, of which there are so many, or any number. Raises
    OperatorValueError, OperatorTypeError."""
    try:
        labels = np.asarray(value)
    except ValueError:  # lists of several lengths
        raise op.wrong_type(argument, "an integer for each sample", type(value).__name__) from None
    if labels.dtype.kind not in "iu" or labels.ndim == 0 or labels.size != len(labels):
        raise op.wrong_type(
            argument, "an integer for each sample", f"{labels.dtype} of shape {labels.shape}"
        )
    if size is not None and labels.size != size:
        raise op.wrong_value(argument, f"a number for each sample, {size}", labels.size)
    return labels.reshape(-1).astype(np.int64)


def as_indices(value: Any, argument: str, whence: str = "") -> op.Int64Array:
    try:
        found = np.asarray(value if isinstance(value, np.ndarray) else list(value))
    except TypeError:
        found = np.empty(0, object)
    if found.size and (found.ndim != 1 or found.dtype.kind not in "iu"):
        raise op.wrong_type(
            argument, "numbers of samples" + whence, f"{found.dtype} of shape {found.shape}"
        )
    if found.dtype == object or not found.size:
        what = "none" if found.dtype != object else repr(value)
        raise op.wrong_value(argument, "at least one number of a sample" + whence, what)
    return found.astype(np.int64)


def check_inside(indices: op.Int64Array, size: int, argument: str, whence: str = "") -> None:
    """Raise OperatorValueError for a number that no sample has."""
    bad = (indices < 0) | (indices >= size)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise op.wrong_value(
            argument, f"numbers from 0 to {size - 1}{whence}", f"{indices[place]} at {place}"
        )
