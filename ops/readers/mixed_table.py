"""Several tables as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.table import Failures, Records, Table, column

__all__ = ["MixedTable"]


Numbers = TypeVar("Numbers", bound="np.ndarray[Any, Any]")
Part: TypeAlias = tuple[Table, op.Int64Array, op.Int64Array]
"""A table, the places of its samples among those that are asked for, and their numbers there."""


class MixedTable(Table):
    """Tables one after the other. source: the number of a further output, which tells the table;
    heads: what identities of the samples of each begin with, None where they have none."""

    selecting = frozenset(("readers", "weights", "stop", "per", "with_source"))

    def __init__(
        self, tables: Sequence[Table], source: int | None, heads: Sequence[str | None]
    ) -> None:
        self.tables = tuple(tables)
        self._heads = tuple(heads)
        self._source = source
        self.ends = np.cumsum([len(table) for table in tables])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def _parts(self, indices: op.Int64Array) -> list[Part]:
        """What is meant of each table."""
        sources = np.searchsorted(self.ends, indices, side="right")
        found = []
        for number, table in enumerate(self.tables):
            places = np.flatnonzero(sources == number)
            if len(places):
                first = self.ends[number] - len(table)
                found.append((table, places, indices[places] - first))
        return found

    def names(self, indices: op.Int64Array) -> list[str]:
        found = [""] * len(indices)
        for table, places, own in self._parts(indices):
            for place, name in zip(places.tolist(), table.names(own), strict=True):
                found[place] = name
        return found

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        parts = self._parts(indices) or [(self.tables[0], indices, indices)]
        made = [table.read(own, pool) for table, _, own in parts]
        all_places = [places for _, places, _ in parts]
        failures: Failures = {
            int(places[sample]): error
            for records, places in zip(made, all_places, strict=True)
            for sample, error in records.failures.items()
        }
        if len(parts) == 1:
            columns, names = made[0].columns, made[0].names
        else:
            columns = tuple(
                joined([one.columns[output] for one in made], all_places, output)
                for output in range(len(made[0].columns))
            )
            names = _names(made, parts, len(columns), len(indices))
        if self._source is not None:
            columns = (*columns, self._numbers(indices))
            names = None if names is None else (*names, self.names(indices))
        return Records(columns, failures, names)

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        """The outputs that all tables know without reading, and the number of the table."""
        parts = self._parts(indices) or [(self.tables[0], indices, indices)]
        found = [table.without_reading(own) for table, _, own in parts]
        common = {*found[0]}.intersection(*(t.without_reading(indices[:0]) for t in self.tables))
        all_places = [places for _, places, _ in parts]
        known = {
            output: joined([one[output] for one in found], all_places, output)
            for output in sorted(common)
        }
        if self._source is not None:
            known[self._source] = self._numbers(indices)
        return known

    def _numbers(self, indices: op.Int64Array) -> op.Batch:
        """The number of the table of each sample."""
        return column(np.searchsorted(self.ends, indices, side="right"), (1,), op.int32)

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """Those of the tables."""
        found: list[str | None] = [None] * len(indices)
        for table, places, own in self._parts(indices):
            head = self._heads[self.tables.index(table)]
            if output == self._source or head is None:
                continue
            identities = table.identities(own, output, before)
            for place, one in zip(places.tolist(), identities, strict=True):
                found[place] = None if one is None else f"{head}\0{one}"
        return found

    def beside(self) -> MixedTable:
        return MixedTable([table.beside() for table in self.tables], self._source, self._heads)

    def digest(self) -> dict[str, Any]:
        return {"readers": [table.digest() for table in self.tables]}

    def labels(self) -> op.Int64Array | None:
        return _all([table.labels() for table in self.tables])

    def classes(self) -> list[str] | None:
        """Those of the readers, where they are the same."""
        first = self.tables[0].classes()
        return first if all(table.classes() == first for table in self.tables[1:]) else None

    def sizes(self) -> op.Int64Array | None:
        return _all([table.sizes() for table in self.tables])

    def durations(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        return _all([table.durations() for table in self.tables])

    def prefetch(self, indices: op.Int64Array) -> None:
        for table, _, own in self._parts(indices):
            if table.storage is None:
                table.prefetch(own)


def _all(parts: list[Numbers | None]) -> Numbers | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None  # type: ignore[return-value]


def _names(
    made: list[Records], parts: list[Part], outputs: int, size: int
) -> tuple[list[str], ...] | None:
    """The names of each output, if one of the tables has names of its own for them."""
    if all(records.names is None for records in made):
        return None
    found = tuple([""] * size for _ in range(outputs))
    for records, (table, places, own) in zip(made, parts, strict=True):
        several = records.names or (table.names(own),) * outputs
        for target, names in zip(found, several, strict=True):
            for place, name in zip(places.tolist(), names, strict=True):
                target[place] = name
    return found


def joined(batches: Sequence[op.Batch], places: Sequence[op.Int64Array], output: int) -> op.Batch:
    """The samples of batches at these places of one. Raises OperatorRuntimeError for batches of
    different types."""
    kinds = {(batch.dtype, batch.ndim, batch.layout) for batch in batches}
    if len(kinds) > 1:
        said = " and ".join(
            f"{dtype} with {ndim} axes" for dtype, ndim, _ in sorted(kinds, key=str)
        )
        raise op.OperatorRuntimeError(
            f"output {output} of readers that are mixed is of several types in one batch: {said}",
            argument="readers",
        )
    first = batches[0]
    shapes = np.empty((sum(map(len, places)), first.ndim), np.int64)
    for batch, own in zip(batches, places, strict=True):
        shapes[own] = batch.batch_shape.shapes
    made = op.Batch.empty(op.BatchShape.of(shapes), first.type)
    targets = made.batch_shape.views(made.data)
    for batch, own in zip(batches, places, strict=True):
        for place, value in zip(own.tolist(), batch.batch_shape.views(batch.data), strict=True):
            targets[place][...] = value
    return made
