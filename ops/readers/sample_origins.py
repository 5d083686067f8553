"""What identifies the samples of a reader, and which of them need not be read, because a cache has
what is made of them."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.worker_pool import shared_pool
from gradiva.eager.types.arrays import BoolVector
from gradiva.eager.types.sample_origin import IdentitiesOnDemand, SampleOrigin
from gradiva.ops.readers.core.identities import arguments_digest, library_version
from gradiva.ops.readers.core.partial_reads import spread_out
from gradiva.ops.readers.core.source import Source, SourceOperator
from gradiva.ops.readers.core.table import BegunRead, Records, Table

_PLANNED: Final = 8192
"""Samples whose identities are made ahead, at most."""


def reader_head(name: str, given: dict[str, Any], table: Table) -> str | None:
    """What the identities of all samples of a reader begin with: its operator, those of its
    arguments that decide about the bytes, and libraries that do. None where arguments have no form
    to compare."""
    digest = arguments_digest(given, table.selecting)
    return (
        None if digest is None else " ".join([name, digest, *map(library_version, table.libraries)])
    )


class OriginReads:
    """Reads the samples of a table that are needed, and knows what identifies them.

    source: the reader, with the wishes of who reads it; operator, given: what it was made from.
    """

    def __init__(
        self, source: Source, table: Table, operator: SourceOperator[Any], given: dict[str, Any]
    ) -> None:
        # The source holds this object; batches that outlive it hold this one, too.
        self._source = weakref.ref(source)
        self._table, self._operator, self._given = table, operator, given
        self._planned: dict[int, dict[int, str | None]] = {}
        """The identities of samples that were planned for, by output and index."""
        self._lone: dict[frozenset[int], bool] = {}
        self._beside: tuple[int, threading.Lock, Table] | None = None

    @cached_property
    def _head(self) -> str | None:
        """What the identities of all samples begin with."""
        return reader_head(self._operator.name, self._given, self._table)

    @cached_property
    def _outputs(self) -> int:
        """The number of outputs of the table."""
        operator = self._operator
        given = {name: one for name, one in self._given.items() if name in operator.arguments}
        return len(operator.types((), given)) - bool(self._given["with_index"])

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None
    ) -> Sequence[str | None]:
        """As of the table, for this reader."""
        if output == self._outputs:
            return [f"number {index}" for index in indices.tolist()]
        head = self._head
        if head is None:
            return [None] * len(indices)
        return [
            None if one is None else f"{head} {output}\0{one}"
            for one in self._table.identities(indices, output, before)
        ]

    def _origin(self, indices: op.Int64Array, planning: bool = False) -> BatchOrigin:
        """Of a batch that is about to be read, or planned for."""
        source = self._source()
        if source is None or source.known is None or not source.left:
            return BatchOrigin(self, indices)
        made = {output: self._asked_once(indices, output, planning) for output in source.left}
        found = np.asarray(source.known(made), np.bool_)
        return BatchOrigin(self, indices, made, ~found if found.any() else None)

    def _asked_once(
        self, indices: op.Int64Array, output: int, planning: bool
    ) -> Sequence[str | None]:
        """The identities: those that were made when the samples were planned for are not made
        again."""
        planned = self._planned.setdefault(output, {})
        if planning:
            made = self.identities(indices, output, None)
            if len(planned) > _PLANNED:
                planned.clear()  # of places that the reader has left
            planned.update(zip(indices.tolist(), made, strict=True))
            return made
        found = [planned.pop(index, None) for index in indices.tolist()] if planned else [None]
        if None not in found:
            return found
        return self.identities(indices, output, None)

    @property
    def selective(self) -> bool:
        """Whether some samples need not be read."""
        source = self._source()
        return source is not None and source.known is not None and bool(source.left)

    @property
    def _free(self) -> frozenset[int]:
        """The outputs in which samples that are not needed may be empty."""
        source = self._source()
        assert source is not None  # only it reads
        if source.used is None:
            return source.left
        return source.left | (frozenset(range(self._outputs)) - source.used)

    def _leaves_out(self, free: frozenset[int]) -> bool:
        """Whether nothing at all is read of samples that are not needed."""
        if free not in self._lone:
            known = self._table.without_reading(np.zeros(0, np.int64))
            self._lone[free] = all(one in free or one in known for one in range(self._outputs))
        return self._lone[free]

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> OriginRecords:
        """The samples of a batch that are needed."""
        origin = self._origin(indices)
        needed = origin.needed
        if needed is None:
            return OriginRecords(self._table.read(indices, pool), origin)
        free = self._free
        found = self._table.read_some(indices, needed, free, pool)
        if found is not None:
            origin.empty = free
            return OriginRecords(found, origin)
        if self._leaves_out(free):
            rows = np.flatnonzero(needed)
            return self.spread_out(self._table.read(indices[rows], pool), origin, rows)
        return OriginRecords(self._table.read(indices, pool), origin)

    def begin(self, indices: op.Int64Array, pool: op.WorkerPool) -> BegunReads | None:
        """Begin to read them, as `Table.begin`."""
        origin = self._origin(indices)
        rows = None
        if origin.needed is not None and self._leaves_out(self._free):
            rows = np.flatnonzero(origin.needed)
        begun = self._table.begin(indices if rows is None else indices[rows], pool)
        return None if begun is None else BegunReads(self, begun, origin, rows)

    def spread_out(
        self, records: Records, origin: BatchOrigin, rows: op.Int64Array
    ) -> OriginRecords:
        """Records of the needed samples of a batch, as those of all."""
        indices = origin.indices
        known = self._table.without_reading(indices)
        origin.empty = self._free - known.keys()
        names = self._table.names(indices)
        return OriginRecords(spread_out(records, rows, names, known), origin)

    def prefetch(self, indices: op.Int64Array) -> bool:
        """Have those of these samples fetched that are needed. Returns whether there are any."""
        needed = self._origin(indices, planning=True).needed
        if needed is None:
            self._table.prefetch(indices)
        elif self._leaves_out(self._free):
            self._table.prefetch(indices[needed])
        elif not self._table.prefetch_some(indices, needed, self._free):
            self._table.prefetch(indices)
        return needed is None or bool(needed.any())

    def load(self, indices: op.Int64Array, output: int, samples: list[int]) -> op.Batch:
        """One output of these samples of a batch, read now, by any thread. Raises
        SampleDataError."""
        if self._beside is None or self._beside[0] != os.getpid():
            self._beside = os.getpid(), threading.Lock(), self._table.beside()
        _, turn, table = self._beside
        chosen = indices[samples]
        # Nothing here waits for the thread that reads batches: that may wait for this thread, if
        # this is one of its pool.
        with turn:
            columns, failures, _ = table.read(chosen, shared_pool(1))
        if failures:
            failed = min(failures)
            name = table.names(chosen[failed : failed + 1])[0]
            failures[failed].sample = samples[failed]
            raise failures[failed].complete(file=name)
        return columns[output]


class BatchOrigin:
    """The origins of the samples of a batch. needed: which of them must be read; None for all."""

    __slots__ = ("_before", "_made", "_reads", "empty", "indices", "needed")

    def __init__(
        self,
        reads: OriginReads,
        indices: op.Int64Array,
        made: dict[int, Sequence[str | None]] | None = None,
        needed: BoolVector | None = None,
    ) -> None:
        self._reads, self.indices, self._made = reads, indices, made or {}
        self._before = time.time_ns()
        self.needed = needed
        self.empty: frozenset[int] = frozenset()
        """The outputs in which samples that are not needed were left out."""

    def of(self, output: int, batch: op.Batch, failed: Collection[int]) -> SampleOrigin:
        """Of the samples in an output. failed: the samples that could not be read, which are empty
        or zeros."""
        reads, indices = self._reads, self.indices
        known = None if output not in self.empty else self.needed
        make = partial(self._identities, output, batch.batch_shape, known, failed)
        identities = IdentitiesOnDemand(make, len(indices))
        if known is None:
            return SampleOrigin(identities)
        return SampleOrigin(identities, ~known, partial(reads.load, indices, output))

    def _identities(
        self, output: int, laid: op.BatchShape, needed: BoolVector | None, failed: Collection[int]
    ) -> Sequence[str | None]:
        """What was read without success has none, and what is empty, since its shape may depend on
        the other samples."""
        found = self._made.get(output)
        if found is None:
            found = self._reads.identities(self.indices, output, self._before)
        without = laid.volumes == 0
        if needed is not None:
            without &= needed
        if not failed and not without.any():
            return found
        left = [*found]
        for sample in (*failed, *np.flatnonzero(without).tolist()):
            left[sample] = None
        return left


@dataclass(frozen=True, slots=True)
class OriginRecords:
    """Records, and where their samples are from."""

    records: Records
    origin: BatchOrigin


@dataclass(frozen=True, slots=True)
class BegunReads:
    """The samples of a batch that are needed, which are being read. rows: which these are, if the
    others are left out."""

    reads: OriginReads
    begun: BegunRead
    origin: BatchOrigin
    rows: op.Int64Array | None

    def wait(self, pool: op.WorkerPool) -> OriginRecords:
        records = self.begun.wait(pool)
        if self.rows is None:
            return OriginRecords(records, self.origin)
        return self.reads.spread_out(records, self.origin, self.rows)

    def stop(self) -> None:
        self.begun.stop()
