"""`readers.parquet`: columns of Parquet files, as data sets of Hugging Face are stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.readers.reader import reader_class
from gradiva.eager.readers.source import source_operator
from gradiva.eager.storage.storage import Storage
from gradiva.eager.storage.streams import opened_file
from gradiva.eager.storage.urls import is_url
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.readers.ahead.remote import storage_of
from gradiva.ops.readers.containers import Containers, refuse_empty
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions
from gradiva.ops.readers.table_source import opens_table

from .row_table import RowTable
from .values import types_of_columns

__all__ = ["Parquet", "parquet"]

arrow: Any = lazy_module("pyarrow", "'gradiva[parquet]'")
arrow_parquet: Any = lazy_module("pyarrow.parquet", "'gradiva[parquet]'")


@source_operator("readers.parquet", schema="readers__Parquet")
@op.takes(ReaderArguments)
def parquet(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    cache_bytes: int = 1 << 28,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read columns of Parquet files; a row is a sample. Needs pyarrow: `gradiva[parquet]`.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a column: of numbers, lists of numbers, texts, bytes,
            or of images and sounds as the data sets of Hugging Face hold them. `a.b` is field b of
            structure a.
        dtypes: for each output its type; that of the column by default.
        cache_bytes: files are read in groups of rows; of groups that were read before, so many
            bytes are kept. A group that takes more, and more than its file, is refused.

    Returns:
        For each output the values of its column: numbers without axes, lists 1-D, texts and bytes
        as uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file, and one that lacks a column.
        OperatorRuntimeError: with the file and the row, for what cannot be read, and for a row
            without a value.
    """
    return types_of_columns(columns, dtypes)


_NUMBERS = {"halffloat": "float16", "float": "float32", "double": "float64"}
"""Types of numbers that NumPy calls otherwise."""


class ParquetTable(RowTable):
    """Rows of Parquet files, read in groups of rows."""

    def __init__(
        self,
        containers: Containers,
        groups: list[op.Int64Array],
        types: tuple[op.SampleType, ...],
        columns: tuple[str, ...],
        cache_bytes: int,
    ) -> None:
        super().__init__(containers, [int(ends[-1]) if len(ends) else 0 for ends in groups], types)
        self._groups, self._columns, self._cache_bytes = groups, columns, cache_bytes
        self._kept: OrderedDict[tuple[int, int], Any] = OrderedDict()

    def load(self, file: int, rows: op.Int64Array) -> list[Any]:
        ends = self._groups[file]
        numbers = np.searchsorted(ends, rows, side="right")
        found: list[list[Any]] = [[] for _ in self._columns]
        for number in np.unique(numbers).tolist():
            begin = int(ends[number - 1]) if number else 0
            table = self._group(file, number)
            chosen = rows[numbers == number] - begin
            for values, name in zip(found, self._columns, strict=True):
                values.extend(_values(table, name, chosen))
        return found

    def _group(self, file: int, number: int) -> Any:
        kept = self._kept.pop((file, number), None)
        if kept is None:
            names = [name.partition(".")[0] for name in self._columns]
            with _open(self._containers.paths[file], self.storage) as opened, _Reading():
                kept = opened.read_row_group(number, columns=names, use_threads=False)
            # A table that is kept alone may be larger.
            size = kept.nbytes
            while self._kept and size + self._bytes() > self._cache_bytes:
                self._kept.popitem(last=False)
        self._kept[file, number] = kept
        return kept

    def _bytes(self) -> int:
        return sum(int(table.nbytes) for table in self._kept.values())


class _Reading:
    """Turns what the library raises into an error of the samples."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ImportError) or error is None:
            return
        if isinstance(error, arrow.ArrowException | OSError | ValueError):
            raise op.SampleDataError(f"a damaged Parquet file: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def _open(path: str, storage: Storage | None) -> Iterator[Any]:
    with ExitStack() as stack:
        with _Reading():
            far = is_url(path)
            source: Any = stack.enter_context(opened_file(path, storage)) if far else path
            file = stack.enter_context(arrow_parquet.ParquetFile(source, memory_map=False))
        yield file


def _column(table: Any, name: str) -> Any:
    """The column of this name, or a field of it."""
    first, *fields = name.split(".")
    column = table.column(first).combine_chunks()
    if isinstance(column, arrow.ChunkedArray):  # without rows
        column = arrow.concat_arrays(column.chunks)
    if isinstance(column, arrow.DictionaryArray):
        column = column.dictionary_decode()
    for field in fields:
        column = column.field(field)
    kind = column.type
    if arrow.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        column = column.field("bytes")
    return column


def _refuse_large(
    group: Any, number: int, schema: Any, columns: tuple[str, ...], limit: int
) -> None:
    """Refuse a group of rows that takes more memory than a file of its size should: a few bytes may
    stand for any number of equal values. Raises SampleDataError."""
    wanted = {name.partition(".")[0] for name in columns}
    kinds = [schema.field(name).type for name in wanted if name in schema.names]
    widths = [kind.bit_width for kind in kinds if arrow.types.is_primitive(kind)]
    parts = (group.column(place) for place in range(group.num_columns))
    stored = sum(
        part.total_uncompressed_size
        for part in parts
        if part.path_in_schema.partition(".")[0] in wanted
    )
    size = max(group.num_rows * sum(widths) // 8, stored)
    if group.num_rows < 0 or size > limit:
        raise op.SampleDataError(
            f"its group {number} of {group.num_rows} rows takes {size} bytes, more than cache_bytes"
        )


def _is_known(kind: Any, path: list[str]) -> bool:
    """Whether the values of a column, or of this field of it, can be delivered."""
    types = arrow.types
    for name in path:
        if not types.is_struct(kind) or kind.get_field_index(name) < 0:
            return False
        kind = kind.field(kind.get_field_index(name)).type
    if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        kind = kind.field(kind.get_field_index("bytes")).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    listed = False
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind, listed = kind.value_type, True
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return True
    text = types.is_string(kind) or types.is_large_string(kind)
    data = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return (text or data) and not listed


def _values(table: Any, name: str, rows: op.Int64Array) -> list[Any]:
    with _Reading():
        chosen = _column(table, name).take(arrow.array(rows))
        kind = chosen.type
        if arrow.types.is_list(kind) or arrow.types.is_large_list(kind):
            return [_listed(one) for one in chosen]
        if arrow.types.is_fixed_size_list(kind):
            return [_listed(one) for one in chosen]
        if arrow.types.is_primitive(kind):
            numbers = iter(chosen.drop_null().to_numpy(zero_copy_only=False))
            known = chosen.is_valid().to_numpy(zero_copy_only=False)
            return [next(numbers) if there else None for there in known.tolist()]
        return [one.as_py() for one in chosen]


def _listed(one: Any) -> Any:
    """A list as an array in the type of its numbers."""
    values = one.values
    if values is None:
        return None
    if values.null_count:
        return op.SampleDataError("a list lacks a value")
    if arrow.types.is_primitive(values.type):
        return values.to_numpy(zero_copy_only=False)
    nested = one.as_py()
    while arrow.types.is_nested(values.type):
        values = values.flatten()
    try:
        return np.array(nested, _NUMBERS.get(str(values.type), str(values.type)))
    except (ValueError, TypeError, OverflowError):
        return op.SampleDataError("lists of several lengths, or of no numbers, are no array")


@opens_table(parquet, container=True)
def _open_table(given: dict[str, Any]) -> ParquetTable:
    containers = Containers(given["paths"], "paths", storage_of(given))
    groups = []
    for path, facts in zip(containers.paths, containers.facts, strict=True):
        try:
            with _open(path, containers.storage) as opened, _Reading():
                schema, counts = opened.schema_arrow, []
                limit = max(given["cache_bytes"], facts.size)
                for number in range(opened.metadata.num_row_groups):
                    group = opened.metadata.row_group(number)
                    counts.append(group.num_rows)
                    _refuse_large(group, number, schema, given["columns"], limit)
        except ImportError as error:
            raise op.OperatorRuntimeError(str(error)) from None
        except op.SampleDataError as error:
            raise op.OperatorRuntimeError(error.problem, file=path) from None
        for name in given["columns"]:
            first, *fields = name.split(".")
            if first in schema.names and not _is_known(schema.field(first).type, fields):
                raise op.OperatorValueError(
                    argument="columns",
                    expected="numbers, lists of them, texts and bytes",
                    got=f"{name!r}, in a column of type {schema.field(first).type}",
                    file=path,
                )
            if first not in schema.names:
                raise op.OperatorValueError(
                    argument="columns",
                    expected=f"columns of the file, such as {', '.join(schema.names[:5])}",
                    got=repr(name),
                    file=path,
                )
        groups.append(np.cumsum(np.array(counts, np.int64)))
    types = types_of_columns(given["columns"], given["dtypes"])
    table = ParquetTable(containers, groups, types, given["columns"], given["cache_bytes"])
    refuse_empty(len(table), containers, "paths")
    return table


Parquet = reader_class("Parquet", parquet)
