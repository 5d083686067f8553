"""`readers.jsonl` and `readers.csv`: fields of lines of text."""

from __future__ import annotations

import csv as csv_module
import json
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.readers.reader import reader_class
from gradiva.eager.readers.source import source_operator
from gradiva.eager.storage.handles import Handle, pread
from gradiva.eager.storage.storage import Storage
from gradiva.eager.storage.streams import opened_file
from gradiva.ops.readers.ahead.remote import storage_of
from gradiva.ops.readers.containers import Containers, Places, RecordTable, refuse_empty
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions
from gradiva.ops.readers.scan_cache import Scan, kept_scan
from gradiva.ops.readers.table import Failures, Records
from gradiva.ops.readers.table_source import opens_table

from .values import as_array, column_of, types_of_columns

__all__ = ["CSV", "JSONL", "csv", "jsonl"]

_CHUNK = 1 << 22


@source_operator("readers.jsonl", schema="readers__JSONL")
@op.takes(ReaderArguments)
def jsonl(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read fields of the objects in files with a JSON object in each line. Empty lines are skipped.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a field; `a.b` is field b of the object in field a.
        dtypes: for each output its type; by default int64, float32 or bool for numbers, as the
            first sample of a batch has them, and uint8 for texts.

    Returns:
        For each output the values of its field: numbers without axes, lists as arrays, texts as
        uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file.
        OperatorRuntimeError: with the file and the place in it, for a line that is no object or
            lacks a field.
    """
    return types_of_columns(columns, dtypes)


@source_operator("readers.csv", schema="readers__CSV")
@op.takes(ReaderArguments)
def csv(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    delimiter: str = ",",
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read columns of CSV files, whose first line has the names of the columns. Quoted fields may
    hold line breaks; empty lines are skipped.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a column.
        dtypes: for each output its type: of a number, or uint8 for the text itself, which is the
            default.
        delimiter: what stands between two fields.

    Returns:
        For each output the values of its column: numbers without axes, texts as uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file, and one that lacks a column.
        OperatorRuntimeError: with the file and the place in it, for a line that cannot be read.
    """
    return types_of_columns(columns, dtypes)


def _scan_lines(handle: Handle, size: int) -> Scan:
    return _lines(handle, size, quotes=False)


def _scan_rows(handle: Handle, size: int) -> Scan:
    return _lines(handle, size, quotes=True)


def _lines(handle: Handle, size: int, quotes: bool) -> Scan:
    """Place and size of each line that is not empty, without its line break. quotes: line breaks
    between two are text."""
    ends: list[np.ndarray[Any, Any]] = []
    returns: list[np.ndarray[Any, Any]] = []
    place, inside, before = 0, 0, 0
    while place < size:
        data = np.frombuffer(pread(handle, _CHUNK, place), np.uint8)
        if not data.size:
            raise op.SampleDataError(f"it ends at byte {place}")
        breaks = data == 10
        if quotes:
            seen = inside + np.cumsum(data == 34)
            breaks &= seen % 2 == 0
            inside = int(seen[-1]) % 2
        found = np.flatnonzero(breaks)
        returns.append(np.where(found > 0, data[found - 1], before) == 13)
        ends.append(place + found)
        place, before = place + data.size, int(data[-1])
    stops = np.concatenate([*ends, [size]]).astype(np.int64)
    begins = np.concatenate([[0], stops[:-1] + 1])
    stops -= np.concatenate([*returns, [before == 13]]).astype(np.int64)
    places = np.stack([begins, stops - begins], 1)
    return places[places[:, 1] > 0], b""


class TextTable(RecordTable):
    """Lines of files, as values of fields."""

    kind = "lines"

    def __init__(
        self, containers: Containers, places: Places, types: tuple[op.SampleType, ...]
    ) -> None:
        super().__init__(containers, places)
        self._types = types

    def values(self, text: str, file: int) -> list[Any]:
        """The fields of a line, one for each output; a SampleDataError for one that is not there.
        Raises SampleDataError."""
        raise NotImplementedError

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        files = self._places.files[indices]
        raw = self.bytes_of(indices, pool, failures)
        columns: list[list[Any]] = [[None] * len(indices) for _ in self._types]
        for sample, line in enumerate(raw.batch_shape.views(raw.data)):
            if sample in failures:
                continue
            try:
                found = self.values(_text(line), int(files[sample]))
                for column, value in enumerate(found):
                    columns[column][sample] = as_array(value, self._types[column].dtype, plain=True)
            except op.SampleDataError as error:
                failures[sample] = error
        made = (
            column_of(values, type.dtype, failures)
            for values, type in zip(columns, self._types, strict=True)
        )
        return Records(tuple(made), failures)


def _text(line: np.ndarray[Any, Any]) -> str:
    try:
        return line.tobytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise op.SampleDataError(f"a line that is no UTF-8, at its byte {error.start}") from None


class JSONTable(TextTable):
    """Objects in lines."""

    columns: tuple[str, ...] = ()

    def values(self, text: str, file: int) -> list[Any]:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise op.SampleDataError(f"a line that is no JSON: {error}") from None
        return [self._field(record, name) for name in self.columns]

    def _field(self, record: Any, name: str) -> Any:
        value = record
        for part in [name] if isinstance(record, dict) and name in record else name.split("."):
            if not isinstance(value, dict) or part not in value:
                raise op.SampleDataError(f"the line lacks field {name!r}")
            value = value[part]
        if isinstance(value, dict):
            raise op.SampleDataError(f"field {name!r} is an object", expected="a number or text")
        return value


class CSVTable(TextTable):
    """Rows of CSV files. numbers: for each file those of the columns; widths: how many it has."""

    delimiter = ","
    numbers: list[list[int]] = []  # noqa: RUF012  set for each table
    widths: list[int] = []  # noqa: RUF012

    def values(self, text: str, file: int) -> list[Any]:
        fields = _fields(text, self.delimiter)
        if len(fields) != self.widths[file]:
            raise op.SampleDataError(
                "a row of another length", expected=f"{self.widths[file]} fields", got=len(fields)
            )
        return [
            _number(fields[number], type.dtype)
            for number, type in zip(self.numbers[file], self._types, strict=True)
        ]


def _fields(text: str, delimiter: str) -> list[str]:
    try:
        rows = list(csv_module.reader([text], delimiter=delimiter, strict=True))
    except csv_module.Error as error:
        raise op.SampleDataError(f"a row that is no CSV: {error}") from None
    return rows[0] if rows else []


def _number(text: str, dtype: op.DType | None) -> Any:
    if dtype is None or dtype is op.uint8:
        return text
    try:
        return float(text) if np.dtype(dtype.numpy).kind == "f" else int(text)
    except ValueError:
        raise op.SampleDataError(
            "a field that is no number", expected=dtype.name, got=text[:40]
        ) from None


def _found(given: dict[str, Any], scan: Any, kind: str) -> tuple[Containers, list[op.Int64Array]]:
    storage = storage_of(given)
    containers = Containers(given["paths"], "paths", storage)
    return containers, [kept_scan(kind, path, 2, scan, storage)[0] for path in containers.paths]


@opens_table(jsonl, container=True)
def _open_jsonl(given: dict[str, Any]) -> JSONTable:
    containers, parts = _found(given, _scan_lines, "lines 1")
    types = types_of_columns(given["columns"], given["dtypes"])
    table = JSONTable(containers, Places.join(parts), types)
    table.columns = given["columns"]
    refuse_empty(len(table), containers, "paths")
    return table


@opens_table(csv, container=True)
def _open_csv(given: dict[str, Any]) -> CSVTable:
    if len(given["delimiter"]) != 1:
        raise op.OperatorValueError(
            argument="delimiter", expected="one character", got=repr(given["delimiter"])
        )
    containers, parts = _found(given, _scan_rows, "rows 1")
    heads = [
        _head(path, part, given, containers.storage)
        for path, part in zip(containers.paths, parts, strict=True)
    ]
    types = types_of_columns(given["columns"], given["dtypes"])
    table = CSVTable(containers, Places.join([part[1:] for part in parts]), types)
    table.delimiter = given["delimiter"]
    table.numbers = [[head.index(name) for name in given["columns"]] for head in heads]
    table.widths = [len(head) for head in heads]
    refuse_empty(len(table), containers, "paths")
    return table


def _head(
    path: str, places: op.Int64Array, given: dict[str, Any], storage: Storage | None
) -> list[str]:
    """The names in the first line. Raises OperatorValueError, OperatorRuntimeError."""
    try:
        with opened_file(path, storage) as stream:
            line = stream.read(int(places[0, 1])) if len(places) else b""
        head = _fields(_text(np.frombuffer(line, np.uint8)), given["delimiter"])
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
