"""`readers.jsonl` and `readers.csv`: fields of lines of text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import Containers, Places, RecordTable, check_not_empty
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.scan_cache import Scan, kept_scan
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Records
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.handles import Handle
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.streams import opened_file

from .conversions import DoubtfulError, as_array
from .json_fields import record_of, value_of_field
from .lines import fields_of, rows_scan, scan_lines
from .values import column_of, types_of_columns

__all__ = ["CSV", "JSONL", "csv", "jsonl"]

_LOOKED_AT: Final = 1 << 14
"""Lines that are looked at for one that tells what an empty list is."""
_AT_ONCE: Final = 256


@source_operator("readers.jsonl", schema="readers__JSONL")
@op.uses_arguments(ReaderArguments)
def jsonl(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows of JSON lines files: fields of the object in each line.

    Empty lines are skipped.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a field; `a.b` is field b of the object in field a.
        dtypes: for each output its type; by default int64, float32 or bool for numbers, as the
            first sample of a batch has them, and uint8 for texts. "float64" delivers all digits,
            "uint64" whole numbers from 2**63 on. See `docs/readers.md`.

    Returns:
        For each output the values of its field: numbers without axes, lists as arrays, texts as
        uint8, 1-D. Empty lists have the axes of the others, such as (0, 4).

    Raises:
        OperatorValueError: for a missing file.
        OperatorRuntimeError: with the file and the place in it, for a line that is not an object or
            lacks a field, and for a value that the type does not hold.

    Example:
        reader = gradiva.readers.JSONL(paths="data.jsonl", columns=["text", "label"])
        for texts, labels in reader.next_epoch(batch_size=2):
            print(bytes(np.asarray(texts.tensors[0])))
    """
    return types_of_columns(columns, dtypes)


@source_operator("readers.csv", schema="readers__CSV")
@op.uses_arguments(ReaderArguments)
def csv(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    delimiter: str = ",",
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows of CSV files, whose first line has the names of the columns.

    The files are read as by Python's `csv`. Quoted fields may hold line breaks; empty lines are
    skipped.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a column.
        dtypes: for each output its type: of the number that the field says (`5`, `5.0`, `True`), or
            uint8 for the text itself, which is the default. See `docs/readers.md`.
        delimiter: what stands between two fields.

    Returns:
        For each output the values of its column: numbers without axes, texts as uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file, and one that lacks a column.
        OperatorRuntimeError: with the file and the place in it, for a line that cannot be read, and
            for a number that the type does not hold.

    Example:
        reader = gradiva.readers.CSV(paths="data.csv", columns=["label"], dtypes=["int32"])
        for labels in reader.next_epoch(batch_size=4):
            print(labels)
            # Batch(4 samples, shape=(), dtype=int32, device='cpu', values=[0, 1, 2, 3])
    """
    return types_of_columns(columns, dtypes)


class TextTable(RecordTable):
    """Lines of files, as values of fields."""

    kind = "lines"

    def __init__(
        self, containers: Containers, places: Places, types: tuple[op.SampleType, ...]
    ) -> None:
        super().__init__(containers, places)
        self._types = types

    @abstractmethod
    def values(self, text: str, file: int) -> list[np.ndarray[Any, Any]]:
        """The values of a line, one for each output. Raises SampleDataError."""

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        def parse(line: np.ndarray[Any, Any], file: int) -> list[np.ndarray[Any, Any]]:
            return self.values(_text(line), file)

        columns, failures = self.parsed(indices, pool, parse, len(self._types))
        made = (
            column_of(values, type.dtype, failures, partial(self.form, number, pool))
            for number, (values, type) in enumerate(zip(columns, self._types, strict=True))
        )
        return Records(tuple(made), failures)

    def form(self, number: int, pool: op.WorkerPool) -> np.ndarray[Any, Any] | None:
        """A value of this column that has elements, for batches in which none has."""
        return None


def _text(line: np.ndarray[Any, Any]) -> str:
    try:
        return line.tobytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise op.SampleDataError(f"a line that is no UTF-8, at its byte {error.start}") from None


class JSONTable(TextTable):
    """Objects in lines."""

    columns: tuple[str, ...] = ()

    def __init__(
        self, containers: Containers, places: Places, types: tuple[op.SampleType, ...]
    ) -> None:
        super().__init__(containers, places, types)
        self._forms: dict[int, np.ndarray[Any, Any] | None] = {}

    def values(self, text: str, file: int) -> list[np.ndarray[Any, Any]]:
        wanted = [*zip(self.columns, self._types, strict=True)]
        record = record_of(text)
        try:
            return [value_of_field(record, name, type.dtype, doubt=True) for name, type in wanted]
        except DoubtfulError:
            record = record_of(text, exact=True)
            return [value_of_field(record, name, type.dtype) for name, type in wanted]

    def form(self, number: int, pool: op.WorkerPool) -> np.ndarray[Any, Any] | None:
        if number not in self._forms:
            self._forms[number] = self._first_full(number, pool)
        return self._forms[number]

    def _first_full(self, number: int, pool: op.WorkerPool) -> np.ndarray[Any, Any] | None:
        """The first value of a column in the files that has elements."""
        dtype = self._types[number].dtype
        for begin in range(0, min(len(self), _LOOKED_AT), _AT_ONCE):
            rows = np.arange(begin, min(begin + _AT_ONCE, len(self)), dtype=np.int64)
            raw = self.bytes_of(rows, pool, {})
            for line in raw.batch_shape.views(raw.data):
                try:
                    found = value_of_field(record_of(_text(line)), self.columns[number], dtype)
                except op.SampleDataError:
                    continue
                if found.size:
                    return found
        return None


class CSVTable(TextTable):
    """Rows of CSV files. numbers: for each file those of the columns; widths: how many it has."""

    delimiter = ","
    numbers: list[list[int]] = []  # noqa: RUF012  set for each table
    widths: list[int] = []  # noqa: RUF012

    def values(self, text: str, file: int) -> list[np.ndarray[Any, Any]]:
        fields = fields_of(text, self.delimiter)
        if len(fields) != self.widths[file]:
            raise op.SampleDataError(
                "a row of another length", expected=f"{self.widths[file]} fields", got=len(fields)
            )
        return [
            as_array(fields[number], type.dtype, plain=True)
            for number, type in zip(self.numbers[file], self._types, strict=True)
        ]


def _found(
    given: dict[str, Any], scan: Callable[[Handle, int], Scan], kind: str
) -> tuple[Containers, list[op.Int64Array]]:
    storage = storage_of(given)
    containers = Containers(given["paths"], "paths", storage)
    return containers, [kept_scan(kind, path, 2, scan, storage)[0] for path in containers.paths]


@opens_table(jsonl, container=True)
def _open_jsonl(given: dict[str, Any]) -> JSONTable:
    containers, parts = _found(given, scan_lines, "lines 2")
    types = types_of_columns(given["columns"], given["dtypes"])
    table = JSONTable(containers, Places.join(parts), types)
    table.columns = given["columns"]
    check_not_empty(len(table), containers, "paths")
    return table


@opens_table(csv, container=True)
def _open_csv(given: dict[str, Any]) -> CSVTable:
    delimiter = given["delimiter"]
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise op.wrong_value(
            "delimiter", "one character, no quotation mark and no line break", repr(delimiter)
        )
    containers, parts = _found(given, rows_scan(delimiter), f"rows 2 {delimiter!r}")
    heads = [
        _head(path, part, given, containers.storage)
        for path, part in zip(containers.paths, parts, strict=True)
    ]
    types = types_of_columns(given["columns"], given["dtypes"])
    table = CSVTable(containers, Places.join([part[1:] for part in parts]), types)
    table.delimiter = delimiter
    table.numbers = [[head.index(name) for name in given["columns"]] for head in heads]
    table.widths = [len(head) for head in heads]
    check_not_empty(len(table), containers, "paths")
    return table


def _head(
    path: str, places: op.Int64Array, given: dict[str, Any], storage: Storage | None
) -> list[str]:
    """The names in the first line. Raises OperatorValueError, OperatorRuntimeError."""
    try:
        with opened_file(path, storage) as stream:
            if len(places):
                stream.seek(int(places[0, 0]))
            line = stream.read(int(places[0, 1])) if len(places) else b""
        head = fields_of(_text(np.frombuffer(line, np.uint8)), given["delimiter"])
    except (op.SampleDataError, OSError) as error:
        raise op.OperatorRuntimeError(f"the first line: {error}", file=path) from None
    missing = [name for name in given["columns"] if name not in head]
    if missing:
        raise op.OperatorValueError(
            argument="columns",
            expected=f"columns of the file, such as {', '.join(head[:5]) or 'none'}",
            got=repr(missing[0]),
            file=path,
        )
    return head


JSONL = reader_class("JSONL", jsonl)
CSV = reader_class("CSV", csv)
