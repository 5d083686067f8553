"""`readers.parquet`: columns of Parquet files, as data sets of Hugging Face are stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.readers.core.containers import Containers, check_not_empty
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.streams import opened_file
from gradiva.ops.storage.urls import is_url

from .arrow_columns import Column, is_known, path_of
from .row_table import RowTable
from .values import first_line, types_of_columns

__all__ = ["Parquet", "parquet"]

arrow: Any = lazy_module("pyarrow", "'gradiva[parquet]'")
arrow_parquet: Any = lazy_module("pyarrow.parquet", "'gradiva[parquet]'")


@source_operator("readers.parquet", schema="readers__Parquet")
@op.uses_arguments(ReaderArguments)
def parquet(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    cache_bytes: int = 1 << 28,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows of Parquet files.

    It needs pyarrow: `gradiva[parquet]`.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a column: of numbers, lists of numbers, tensors, texts,
            bytes, or of images and audio as the data sets of Hugging Face hold them: with bytes,
            or with the path of a file. `a.b` is a column of this name, or field b of structure a.
        dtypes: for each output its type; that of the column by default.
        cache_bytes: files are read in groups of rows; of groups that were read before, so many
            bytes are kept. A group that takes more, and more than its file, is refused.

    Returns:
        For each output the values of its column: numbers without axes, lists with an axis for each
        level, also empty ones, texts and bytes as uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file, and one that lacks a column.
        OperatorRuntimeError: with the file and the row, for what cannot be read, for a row without
            a value, and for a value that the type does not hold.

    Example:
        reader = gradiva.readers.Parquet(paths="data.parquet", columns=["image", "label"])
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    return types_of_columns(columns, dtypes)


class _Group(NamedTuple):
    """A group of rows. size: in bytes."""

    columns: list[Column]
    size: int


class ParquetTable(RowTable):
    """Rows of Parquet files, read in groups of rows."""

    def __init__(
        self,
        containers: Containers,
        groups: list[op.Int64Array],
        types: tuple[op.SampleType, ...],
        places: list[list[tuple[str, ...]]],
        cache_bytes: int,
    ) -> None:
        """groups: of each file, where its groups end; places: of each file, the names that lead to
        each column."""
        super().__init__(containers, [int(ends[-1]) if len(ends) else 0 for ends in groups], types)
        self._groups, self._columns, self._cache_bytes = groups, places, cache_bytes
        self._kept: OrderedDict[tuple[int, int], _Group] = OrderedDict()

    def beside(self) -> ParquetTable:
        made = copy(self)
        made._kept = OrderedDict()
        return made

    def load(self, file: int, rows: op.Int64Array) -> list[Any]:
        ends = self._groups[file]
        numbers = np.searchsorted(ends, rows, side="right")
        found: list[list[Any]] = [[] for _ in self._types]
        for number in np.unique(numbers).tolist():
            begin = int(ends[number - 1]) if number else 0
            group = self._group(file, number)
            chosen = rows[numbers == number] - begin
            for values, column, type in zip(found, group.columns, self._types, strict=True):
                with _Reading():
                    values.extend(column.values(chosen, type.dtype))
        return found

    def _group(self, file: int, number: int) -> _Group:
        kept = self._kept.pop((file, number), None)
        if kept is None:
            places = self._columns[file]
            names = list(dict.fromkeys(place[0] for place in places))
            with _open(self._containers.paths[file], self.storage) as opened, _Reading():
                table = opened.read_row_group(number, columns=names, use_threads=False)
                kept = _Group([Column(table, place) for place in places], int(table.nbytes))
            self.check(file)  # it may have changed meanwhile
            # A group that is kept alone may be larger.
            while self._kept and kept.size + self._bytes() > self._cache_bytes:
                self._kept.popitem(last=False)
        self._kept[file, number] = kept
        return kept

    def _bytes(self) -> int:
        return sum(group.size for group in self._kept.values())


class _Reading:
    """Turns what the library raises into an error of the samples."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ImportError | op.GradivaError):
            return
        if isinstance(error, arrow.ArrowException | OSError | ValueError):
            raise op.SampleDataError(f"a damaged Parquet file: {first_line(error)}") from None


@contextmanager
def _open(path: str, storage: Storage | None) -> Iterator[Any]:
    with ExitStack() as stack:
        with _Reading():
            far = is_url(path)
            source: Any = stack.enter_context(opened_file(path, storage)) if far else path
            file = stack.enter_context(arrow_parquet.ParquetFile(source, memory_map=False))
        yield file


def _refuse_large(group: Any, number: int, schema: Any, wanted: set[str], limit: int) -> None:
    """Refuse a group of rows that takes more memory than a file of its size should: a few bytes may
    stand for any number of equal values. Raises SampleDataError."""
    kinds = [schema.field(name).type for name in wanted]
    widths = [kind.bit_width for kind in kinds if arrow.types.is_primitive(kind)]
    parts = (group.column(place) for place in range(group.num_columns))
    stored = sum(
        part.total_uncompressed_size
        for part in parts
        if any(f"{part.path_in_schema}.".startswith(f"{name}.") for name in wanted)
    )
    size = max(group.num_rows * sum(widths) // 8, stored)
    if group.num_rows < 0 or size > limit:
        raise op.SampleDataError(
            f"its group {number} of {group.num_rows} rows takes {size} bytes, more than cache_bytes"
        )


def _place(schema: Any, name: str, path: str) -> tuple[str, ...]:
    """The names that lead to a column. Raises OperatorValueError."""
    place = path_of(schema, name)
    if place is not None and schema.names.count(place[0]) == 1 and is_known(schema, place):
        return place
    first = next((one for one in schema.names if f"{name}.".startswith(f"{one}.")), None)
    if first is None:
        raise op.OperatorValueError(
            argument="columns",
            expected=f"columns of the file, such as {', '.join(schema.names[:5])}",
            got=repr(name),
            file=path,
        )
    kinds = [one.type for one in schema if one.name == first]
    raise op.OperatorValueError(
        argument="columns",
        expected="numbers, lists of them, texts and bytes",
        got=f"{name!r}, in a column of type {' and in one of type '.join(map(str, kinds))}",
        file=path,
    )


@opens_table(parquet, container=True)
def _open_table(given: dict[str, Any]) -> ParquetTable:
    containers = Containers(given["paths"], "paths", storage_of(given))
    groups, places = [], []
    for path, facts in zip(containers.paths, containers.facts, strict=True):
        try:
            with _open(path, containers.storage) as opened, _Reading():
                schema, counts = opened.schema_arrow, []
                limit = max(given["cache_bytes"], facts.size)
                places.append([_place(schema, name, path) for name in given["columns"]])
                wanted = {place[0] for place in places[-1]}
                for number in range(opened.metadata.num_row_groups):
                    group = opened.metadata.row_group(number)
                    counts.append(group.num_rows)
                    _refuse_large(group, number, schema, wanted, limit)
        except ImportError as error:
            raise op.OperatorRuntimeError(str(error)) from None
        except op.SampleDataError as error:
            raise op.OperatorRuntimeError(error.problem, file=path) from None
        groups.append(np.cumsum(np.array(counts, np.int64)))
    types = types_of_columns(given["columns"], given["dtypes"])
    table = ParquetTable(containers, groups, types, places, given["cache_bytes"])
    check_not_empty(len(table), containers, "paths")
    return table


Parquet = reader_class("Parquet", parquet)
