"""Arguments with several numbers per sample, whose count may differ between samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, describe

from .arguments import Argument


def differ(values: Sequence[Any]) -> bool:
    """Whether samples have different numbers of values."""
    return len({len(value) if hasattr(value, "__len__") else 1 for value in values}) > 1


def ragged_rows(argument: Argument, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The numbers of each sample, 1-D, in the declared dtype. Raises OperatorTypeError."""
    integers = argument.kind.element is np.int64
    rows = []
    for value in values:
        try:
            row = np.asarray(value).reshape(-1)
        except ValueError:  # lists of different lengths
            row = np.array([None])
        # An empty list may have any dtype.
        if row.dtype.kind not in ("biu" if integers and row.size else "biuf"):
            raise OperatorTypeError(
                argument=argument.name,
                expected="integers" if integers else "numbers",
                got=describe(value),
            )
        with np.errstate(over="ignore"):  # numbers that are too large for float32 become infinite
            rows.append(np.ascontiguousarray(row, argument.kind.element))
    return rows
