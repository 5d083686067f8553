"""`readers.table`: any object with a length and numbered rows, as data sets of other libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.eager.values.interop import to_array
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records, Table
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions
from gradiva.ops.readers.table_source import opens_table

from .conversions import as_array
from .hugging_face import FILE, content_of
from .values import column_of, first_line, types_of_columns

__all__ = ["ObjectTable", "TableReader", "entry_of", "table", "value_of"]


def _rows(value: Any) -> Any:
    if not callable(getattr(value, "__len__", None)) or not callable(
        getattr(value, "__getitem__", None)
    ):
        raise TypeError
    if isinstance(value, str | bytes | Mapping):
        raise TypeError
    return value


Rows: TypeAlias = Annotated[
    Any, ArgumentType("Rows", "an object with a length, whose rows have numbers", _rows)
]


@source_operator("readers.table")
@op.uses_arguments(ReaderArguments)
def table(
    *,
    source: Rows,
    columns: op.Strings | None = None,
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows from a Python object: a Hugging Face or PyTorch data set, a list, and others.

    The object has a length and gives rows by their numbers, as do the data sets of Hugging Face,
    Grain (`MapDataset` and its sources), MosaicML Streaming and PyTorch, and lists. The object is
    asked for `source[number]`; if it has `__getitems__`, as data sets of Hugging Face and PyTorch
    may have, for all numbers of a batch at once. It is used in one thread at a time. It has its own
    decoding: data sets of Hugging Face give files with `cast_column("image", Image(decode=False))`.

    Args:
        source: the object. In checkpoints it is known by its length and its `_fingerprint`, if it
            has one.
        columns: for each output the name of an entry of the rows, or its number, as text, where
            rows are tuples. By default a row is one value.
        dtypes: for each output its type; that of the values by default, int64 and float64 for
            numbers of Python.

    Returns:
        For each output the values: numbers without axes, arrays, tensors, lists as arrays, images
        of Pillow as HWC, those of one bit as 0 and 255; texts and bytes, and files in rows of
        Hugging Face's, as uint8. Values without elements have the axes and the type of the others.

    Raises:
        OperatorRuntimeError: with the number of the row, for what the object raises, for rows that
            lack an entry, and for values that are not arrays or that the type does not hold.
        OperatorValueError: for an object without rows.

    Example:
        rows = [{"value": np.float32([1]), "label": 0}, {"value": np.float32([2]), "label": 1}]
        reader = gradiva.readers.Table(source=rows, columns=["value", "label"])
        for values, labels in reader.next_epoch(batch_size=2):
            print(labels)  # Batch(2 samples, shape=(), dtype=int64, device='cpu', values=[0, 1])
    """
    if columns is None:
        given = "row" if dtypes is None else ["row"]
        return types_of_columns(given, dtypes)
    return types_of_columns(columns, dtypes)


def value_of(value: Any, dtype: op.DType | None) -> np.ndarray[Any, Any]:
    """A value of a row as an array. Raises SampleDataError."""
    if isinstance(value, Mapping) and set(value) == FILE:
        return as_array(content_of(value["bytes"], value["path"]), dtype)
    if callable(getattr(value, "detach", None)):
        value = _of_torch(value)
    elif callable(getattr(value, "getbands", None)):
        value = _of_pillow(value, dtype)
    return as_array(value, dtype)


def _of_torch(value: Any) -> np.ndarray[Any, Any]:
    """A tensor of torch, or of a library like it. Raises SampleDataError."""
    try:
        value = value.detach().cpu()
        for name in ("resolve_conj", "resolve_neg"):  # what is only noted is carried out
            if callable(resolve := getattr(value, name, None)):
                value = resolve()
        return to_array(value)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  whatever the library raises
        raise op.SampleDataError(f"a tensor that is no array: {first_line(error)}") from None


def _of_pillow(value: Any, dtype: op.DType | None) -> np.ndarray[Any, Any]:
    """An image of Pillow as HWC; what has one bit as 0 and 255. Raises SampleDataError."""
    try:
        found = np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  of a file that it reads only now
        raise op.SampleDataError(f"an image that cannot be read: {first_line(error)}") from None
    if found.dtype == np.bool_ and dtype is not op.bool_:
        found = found.astype(np.uint8) * np.uint8(255)
    return found[..., None] if found.ndim == 2 else found


def entry_of(row: Any, name: str) -> Any:
    """The entry of a row with this name, or number. Raises SampleDataError."""
    place: Any = name
    if isinstance(row, Sequence) and name.isdecimal():
        place = int(name)
    try:
        return row[place]
    except (KeyError, IndexError, TypeError) as error:
        there = f"has {', '.join(map(repr, row))}" if isinstance(row, Mapping) else repr(error)
        raise op.SampleDataError(f"the row has no `{name}`: it {there}") from None


class ObjectTable(Table):
    """The rows of an object."""

    def __init__(
        self, source: Any, columns: Sequence[str] | None, types: Sequence[op.SampleType]
    ) -> None:
        self._source = source
        self._columns = None if columns is None else list(columns)
        self._types = types
        self._count = len(source)

    def __len__(self) -> int:
        return self._count

    def names(self, indices: op.Int64Array) -> list[str]:
        kind = type(self._source).__name__
        return [f"{kind} at row {row}" for row in indices.tolist()]

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        columns: list[list[Any]] = [[None] * len(indices) for _ in self._types]
        rows = self._fetched(indices.tolist(), failures)
        for sample, row in enumerate(rows):
            if sample in failures:
                continue
            try:
                for column, kind in enumerate(self._types):
                    columns[column][sample] = value_of(self._entry(row, column), kind.dtype)
            except op.SampleDataError as error:
                failures[sample] = error
        made = (
            column_of(values, kind.dtype, failures)
            for values, kind in zip(columns, self._types, strict=True)
        )
        return Records(tuple(made), failures)

    def _fetched(self, numbers: list[int], failures: Failures) -> list[Any]:
        several: Callable[[list[int]], Any] | None = getattr(self._source, "__getitems__", None)
        if callable(several):
            try:
                found = list(several(numbers))
                if len(found) == len(numbers):
                    return found
            except Exception:  # noqa: BLE001  # below it is found out whose fault it was
                pass
        rows = []
        for sample, number in enumerate(numbers):
            try:
                rows.append(self._source[number])
            except Exception as error:  # noqa: BLE001  # whatever the user's object raises
                rows.append(None)
                failures[sample] = op.SampleDataError(
                    f"{type(self._source).__name__}[{number}] raised "
                    f"{type(error).__name__}: {error}"
                )
        return rows

    def _entry(self, row: Any, column: int) -> Any:
        return row if self._columns is None else entry_of(row, self._columns[column])

    def digest(self) -> dict[str, Any]:
        known = f"{type(self._source).__name__} {getattr(self._source, '_fingerprint', '')}"
        return {"rows": len(self), "names": hashlib.blake2b(known.encode()).hexdigest()[:32]}


@opens_table(table)
def _open_table(given: dict[str, Any]) -> ObjectTable:
    columns = given["columns"]
    found = ObjectTable(
        given["source"], columns, types_of_columns(columns or "row", given["dtypes"])
    )
    if not len(found):
        raise op.wrong_value("source", "rows", "none")
    return found


TableReader = reader_class("Table", table)
