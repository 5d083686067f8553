"""From the values of rows to outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.table import Failures, ragged
from gradiva.ops.readers.reader_arguments import dtypes_of


def types_of_columns(columns: Sequence[str], dtypes: Any) -> tuple[op.SampleType, ...]:
    """The types of the outputs, as far as they are known. Raises OperatorValueError."""
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise op.wrong_value("columns", "at least one", "none")
    given = (None,) * len(names) if dtypes is None else dtypes_of(dtypes)
    if len(given) != len(names):
        raise op.wrong_value("dtypes", f"one for each column, {len(names)}", len(given))
    return tuple(op.SampleType(dtype, None, "", "cpu") for dtype in given)


def first_line(error: BaseException) -> str:
    """The first line of an error of another library, or its type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _nothing() -> None:
    return None


def column_of(
    values: list[np.ndarray[Any, Any] | None],
    known: op.DType | None,
    failures: Failures,
    elsewhere: Callable[[], np.ndarray[Any, Any] | None] = _nothing,
) -> op.Batch:
    """A batch of these values; what is None has failed, and is empty. All are to be of the type and
    the number of axes of the first that has elements, or else fail.

    An empty list says nothing of its type and of the axes within it: it has those of the others,
    such as (0, 4) among boxes. elsewhere: a value of another batch, for one in which all are empty.
    """
    form, extents = _form(values, elsewhere)
    dtype = known or (op.float32 if form is None else op.DType.from_numpy(form.dtype))
    ndim = 1 if form is None else form.ndim
    good: list[np.ndarray[Any, Any]] = []
    own = dtype.numpy
    for sample, given in enumerate(values):
        value = given if given is None or given.size else _like(given, dtype, extents)
        if (
            value is not None
            and value.ndim == ndim
            and (value.dtype == own or _native(value.dtype) == own)
        ):
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
    return ragged(good, dtype, ndim)


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _form(
    values: list[np.ndarray[Any, Any] | None], elsewhere: Callable[[], np.ndarray[Any, Any] | None]
) -> tuple[np.ndarray[Any, Any] | None, list[int]]:
    """The value whose type and number of axes count, and the extents that all agree on, 0 for
    others."""
    first, empty = None, False
    for value in values:
        if value is not None:
            empty = empty or not value.size
            if first is None and value.size:
                first = value
    if not empty:
        return first, []
    others = [] if first is None else [one for one in values if one is not None and one.size]
    if first is None:
        first = elsewhere()
        there = [one for one in values if one is not None]
        if first is None or any(one.ndim > first.ndim for one in there):
            first = max(there, key=lambda one: one.ndim)
        others = [first]
    shapes = {one.shape for one in others if one.ndim == first.ndim}
    agreed = [axis[0] if len(set(axis)) == 1 else 0 for axis in zip(*shapes, strict=True)]
    return first, agreed


def _like(value: np.ndarray[Any, Any], dtype: op.DType, extents: list[int]) -> np.ndarray[Any, Any]:
    """A value without elements, with the type and the further axes of the others. Empty texts and
    bytes are no lists."""
    shape = value.shape
    if not shape or len(shape) > len(extents):
        return value
    if value.dtype == np.uint8 and dtype is not op.uint8:
        return value
    inner = shape.index(0) + 1
    wanted = (*shape, *extents[len(shape) :])
    shape = tuple(
        extents[axis] if axis >= inner and not extent else extent
        for axis, extent in enumerate(wanted)
    )
    return np.zeros(shape, dtype.numpy)
