"""From the values of rows to outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.reader_arguments import dtypes_of
from gradiva.ops.readers.table import Failures

__all__ = ["as_array", "column_of", "types_of_columns"]

_PLAIN = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}
"""What numbers in a text become."""


def types_of_columns(columns: Sequence[str], dtypes: Any) -> tuple[op.SampleType, ...]:
    """The types of the outputs, as far as they are known. Raises OperatorValueError."""
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise op.OperatorValueError(argument="columns", expected="at least one", got="none")
    given = (None,) * len(names) if dtypes is None else dtypes_of(dtypes)
    if len(given) != len(names):
        raise op.OperatorValueError(
            argument="dtypes", expected=f"one for each column, {len(names)}", got=str(len(given))
        )
    return tuple(op.SampleType(dtype, None, "", "cpu") for dtype in given)


def as_array(value: Any, dtype: op.DType | None, plain: bool = False) -> np.ndarray[Any, Any]:
    """A value of a row. Text and bytes become uint8, 1-D. plain: it comes from a text, where
    numbers have no types: they become int64 or float32. Raises SampleDataError."""
    if value is None:
        raise op.SampleDataError("there is no value")
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray | memoryview):
        found = np.frombuffer(value, np.uint8)
    else:
        try:
            found = np.asarray(value)
        except (ValueError, OverflowError):
            raise op.SampleDataError("lists of several lengths are no array") from None
    if plain and found.dtype.kind in _PLAIN and not isinstance(value, bytes):
        with np.errstate(over="ignore"):  # what float32 does not hold is infinite
            found = found.astype(_PLAIN[found.dtype.kind])
    if found.dtype.kind not in "biuf":
        raise op.SampleDataError("a value that is no number and no text", got=type(value).__name__)
    if dtype is not None and found.dtype != dtype.numpy:
        kinds = found.dtype.kind + np.dtype(dtype.numpy).kind
        with np.errstate(over="ignore", invalid="ignore"):
            whole = found.astype(dtype.numpy, casting="unsafe")
        if kinds[1] in "biu" and not np.array_equal(whole, found):
            raise op.SampleDataError("a value that the type does not hold", expected=dtype.name)
        found = whole
    return found


def column_of(
    values: list[np.ndarray[Any, Any] | None], known: op.DType | None, failures: Failures
) -> op.Batch:
    """A batch of these values; what is None has failed, and is empty. All are to be of the type and
    the number of axes of the first, or else fail."""
    first = next((value for value in values if value is not None), None)
    dtype = known or (op.float32 if first is None else op.DType.from_numpy(first.dtype))
    ndim = 1 if first is None else first.ndim
    good: list[np.ndarray[Any, Any]] = []
    for sample, value in enumerate(values):
        if value is not None and (value.ndim, value.dtype) == (ndim, dtype.numpy):
            good.append(value)
            continue
        if value is not None:
            failures.setdefault(
                sample,
                op.SampleDataError(
                    "samples of a batch have one type and number of axes",
                    expected=f"{dtype.name}, {ndim}-D",
                    got=f"{value.dtype}, {value.ndim}-D",
                ),
            )
        good.append(np.zeros((0,) * ndim, dtype.numpy))
    shapes = np.array([value.shape for value in good], np.int64).reshape(len(good), ndim)
    made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(dtype, ndim, "", "cpu"))
    for target, value in zip(made.batch_shape.views(made.data), good, strict=True):
        target[...] = value
    return made
