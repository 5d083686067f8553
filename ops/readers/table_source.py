"""The source behind every reader: a table, a plan, and the place in it.

Sharding, padding, shuffling, resuming, provenance and the error policy are here, once; a format is
a table (`table.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.error_policy import keep_rows, quarantine_samples
from gradiva.eager.readers.source import Source, SourceOperator

from .cursor import Cursor
from .plan import ShardedPlan
from .reader_arguments import REMOTE
from .remote import RemoteAhead
from .table import Records, Table

__all__ = ["TableSource", "opens_table"]

F = TypeVar("F", bound=Callable[[dict[str, Any]], Table])


def opens_table(operator: SourceOperator[Any], *, container: bool = False) -> Callable[[F], F]:
    """Decorator: what makes the table of a reader, from its arguments.

    container: samples lie in few files, where the reference lets both kinds of shuffling be asked
    for at once.
    """

    def declare(open_table: F) -> F:
        def open_source(arguments: dict[str, Any], seed: int) -> Source:
            return TableSource(operator.name, open_table, arguments, seed, container)

        operator.opens(open_source)
        operator.not_stored(*REMOTE)
        return open_table

    return declare


class TableSource(Source):
    """The samples of a table, and the place in their stream."""

    def __init__(
        self,
        name: str,
        open_table: Callable[[dict[str, Any]], Table],
        arguments: dict[str, Any],
        seed: int,
        container: bool,
    ) -> None:
        _refuse(arguments, container)
        chosen = arguments["shuffle_after_epoch_seed"]
        self._seed = seed if chosen is None else chosen
        self._name = name
        self._open_table = open_table
        self._arguments = arguments
        self._opened: tuple[Table, Cursor] | None = None
        self._ahead: RemoteAhead | None = None
        self._digest: dict[str, Any] | None = None
        if not arguments["lazy_init"]:
            self._open()

    def _open(self) -> tuple[Table, Cursor]:
        if self._opened is None:
            given = self._arguments
            table = self._open_table(given)
            plan = ShardedPlan(
                len(table),
                self._seed,
                given["random_shuffle"] or given["shuffle_after_epoch"],
                given["num_shards"],
                given["shard_id"],
                given["stick_to_shard"],
                given["pad_last_batch"],
            )
            self._opened = table, Cursor(plan)
            if table.storage is not None:
                self._ahead = RemoteAhead(table, table.storage)
        return self._opened

    @property
    def _cursor(self) -> Cursor:
        return self._open()[1]

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        return self._load(*self._cursor.take(batch_size), pool)

    def read_epoch(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        return self._load(*self._cursor.take_in_epoch(batch_size), pool)

    def _load(
        self, indices: op.Int64Array, positions: op.Int64Array, pool: op.WorkerPool
    ) -> tuple[op.Batch, ...]:
        table, cursor = self._open()
        if self._ahead is not None:
            self._ahead.follow(cursor, len(indices))
        elif self._arguments["read_ahead"]:
            count = len(indices) * self._arguments["prefetch_queue_depth"]
            table.prefetch(cursor.coming(count))
        where = op.Provenance(positions, table.names(indices))
        return self._apply_policy(table.read(indices, pool), where)

    def _apply_policy(self, records: Records, where: op.Provenance) -> tuple[op.Batch, ...]:
        columns, failures, names = records
        self.lost = ()
        for number, column in enumerate(columns):
            own = where if names is None else op.Provenance(where.positions, names[number])
            column.provenance = own
        if not failures:
            return columns
        for sample, error in failures.items():
            error.complete(sample=sample, file=where.name(sample))
        policy = self._arguments["on_error"]
        if policy == "raise":
            raise failures[min(failures)]
        quarantine_samples(failures, self._name, where)
        if policy == "replace":
            return columns
        self.lost = sorted(failures)
        kept = np.delete(np.arange(len(where.positions)), self.lost)
        return tuple(keep_rows(column, kept) for column in columns)

    def close(self) -> None:
        if self._opened is not None and self._opened[0].storage is not None:
            self._opened[0].storage.forget()

    def remaining(self) -> int | None:
        return self._cursor.length - self._cursor.index

    def epoch_length(self) -> int:
        return self._cursor.length

    def shard_length(self) -> int:
        return self._cursor.plan.own_length(self._cursor.epoch)

    def skip_epoch(self) -> None:
        self._cursor.skip_epoch()

    def meta(self) -> dict[str, int]:
        return self._cursor.plan.meta()

    def contents(self) -> dict[str, Any]:
        """How much there is, and a digest of it; so that a data set may be moved as a whole."""
        if self._digest is None:
            self._digest = self._open()[0].digest()
        return self._digest

    def get_state(self) -> dict[str, Any]:
        return self._cursor.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._cursor.set_state(state)


def _refuse(given: dict[str, Any], container: bool) -> None:
    """Raise OperatorValueError for arguments that exclude each other."""
    if given["random_shuffle"] and given["shuffle_after_epoch"] and not container:
        raise op.OperatorValueError(
            "`random_shuffle` and `shuffle_after_epoch` cannot be used together"
        )
    if given["stick_to_shard"] and given["shuffle_after_epoch"]:
        raise op.OperatorValueError(
            "`stick_to_shard` and `shuffle_after_epoch` cannot be used together: the shards "
            "of a shuffled data set are other files in each epoch"
        )
    if given.get("use_o_direct") and not given["dont_use_mmap"]:
        raise op.OperatorValueError("`use_o_direct` needs `dont_use_mmap=True`")
