"""The source behind every reader: a table, a plan, and the place in it.

Sharding, padding, shuffling, resuming, provenance and the error policy are here, once; a format is
a table (`table.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.eager_interpreter import as_seed
from gradiva.eager.execution.error_policy import narrowed, quarantine_samples
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.provenance import Progress
from gradiva.ops.readers.core.cursor import Cursor, PlanProgress
from gradiva.ops.readers.core.order import Order
from gradiva.ops.readers.core.plan import PADDING, Plan, ShardedPlan
from gradiva.ops.readers.core.source import EpochPart, SamplesAgain, Source, SourceOperator
from gradiva.ops.readers.core.table import Records, Table, column

from .ahead import BegunAhead, RemoteAhead
from .reader_arguments import OWN
from .sample_origins import BatchOrigin, OriginReads
from .sampling.bucket_plan import BucketPlan
from .sampling.sampled_order import SampledOrder
from .sampling.sampling_arguments import buckets_of, order_of, sharded
from .sampling.sizes import sizes_of

if TYPE_CHECKING:
    from .sharding import interleaved as sharing
else:  # for few programs
    sharing = lazy_module("gradiva.ops.readers.sharding.interleaved")

__all__ = ["TableSource", "opens_table", "table_openers"]

F = TypeVar("F", bound=Callable[[dict[str, Any]], Table])


table_openers: dict[str, Callable[[dict[str, Any]], Table]] = {}
"""What makes the table of each reader, by the name of its operator."""


def opens_table(operator: SourceOperator[Any], *, container: bool = False) -> Callable[[F], F]:
    """Decorator: what makes the table of a reader, from its arguments.

    container: samples lie in few files, where DALI lets both kinds of shuffling be asked
    for at once.
    """

    def declare(open_table: F) -> F:
        def open_source(arguments: dict[str, Any], seed: int) -> Source:
            return TableSource(operator, open_table, arguments, seed, container)

        operator.opens(open_source)
        operator.not_serializable(*(name for name in OWN if name in operator.arguments))
        table_openers[operator.name] = open_table
        return open_table

    return declare


def made_order(given: dict[str, Any], table: Table, seed: int) -> Order:
    """The order of the epochs of a reader."""
    return order_of(given, len(table), seed, table.labels)


class TableSource(Source):
    """The samples of a table, and the place in their stream."""

    any_thread = True

    def __init__(
        self,
        operator: SourceOperator[Any],
        open_table: Callable[[dict[str, Any]], Table],
        arguments: dict[str, Any],
        seed: int,
        container: bool,
        make_order: Callable[[dict[str, Any], Table, int], Order] = made_order,
    ) -> None:
        _refuse(arguments, container)
        self._make_order = make_order
        chosen = as_seed(arguments["shuffle_after_epoch_seed"])
        self._seed = seed if chosen is None else chosen
        self._operator = operator
        self._open_table = open_table
        self._arguments = arguments
        self._opened: tuple[Table, Cursor] | None = None
        self._reads: OriginReads
        self._ahead: RemoteAhead | None = None
        self._begun: BegunAhead | None = None
        self._digest: dict[str, Any] | None = None
        self._counted: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._counted_for = 0
        if not arguments["lazy_init"]:
            self._open()

    def _open(self) -> tuple[Table, Cursor]:
        if self._opened is None:
            given = self._arguments
            table = self._open_table(given)
            order = self._make_order(given, table, self._seed)
            plan = sharded(given, len(table), self._seed, order)
            if given["bucket"] is not None:
                plan = buckets_of(given["bucket"], plan, lambda key: sizes_of(table, key))
            if given["sharding"] == "interleaved":
                plan = sharing.of_reader(plan, given, self.nominal)
            self._reads = reads = OriginReads(self, table, self._operator, given)
            self._opened = table, Cursor(plan)
            if table.storage is not None:
                self._ahead = RemoteAhead(reads, table.storage)
            if type(table).begin is not Table.begin:
                self._begun = BegunAhead(reads)
        return self._opened

    @property
    def _cursor(self) -> Cursor:
        return self._open()[1]

    @property
    def epoch(self) -> int:  # type: ignore[override]
        return self._cursor.epoch

    @property
    def uneven(self) -> bool:  # type: ignore[override]
        plan = self._cursor.plan
        return isinstance(plan, ShardedPlan) and plan.order.uneven

    @property
    def unit(self) -> int:  # type: ignore[override]
        plan = self._cursor.plan
        return plan.order.unit if isinstance(plan, ShardedPlan) else 1

    def whole_length(self, epoch: int) -> int:
        plan = self._cursor.plan
        return plan.order.length(epoch) if isinstance(plan, ShardedPlan) else 0

    @property
    def shared_steps(self) -> sharing.InterleavedPlan | None:
        plan = self._cursor.plan
        shares = isinstance(plan, ShardedPlan) and plan.shares_steps
        return cast("sharing.InterleavedPlan", plan) if shares else None

    def share_steps(self, share: Any = None, policy: Any = None) -> None:
        if self._arguments["stick_to_shard"]:
            raise _no_shard_of_its_own()
        cursor, now = self._cursor, self.shared_steps
        place = cursor.plan.told(cursor.epoch, cursor.index)
        if now is None:
            assert isinstance(cursor.plan, ShardedPlan)
            now = sharing.of_reader(cursor.plan, self._arguments, self.nominal)
        cursor.plan, cursor.index = sharing.interleaved(
            now.common,
            now.share if share is None else share,
            now.policy if policy is None else policy,
            self.nominal or now.count,
        ).placed(cursor.epoch, place)
        self._counted = ({}, {})

    def go_to(self, epoch: int, place: int, turn: int = 0) -> None:
        cursor = self._cursor
        cursor.plan, cursor.index = cursor.plan.placed(epoch, place, turn)
        cursor.epoch = epoch

    def expect(self, batch_size: int) -> None:
        if self._opened is not None and self.shared_steps is not None:
            self._cursor.fit(batch_size)

    def begin(self, count: int) -> None:
        if self._opened is not None and self._ahead is not None:
            self._ahead.begin(self._cursor, count)

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        place = self._cursor.next_place
        taken = self._cursor.take(batch_size)
        return self._load(*taken, self._progress(place, batch_size), pool, batch_size)

    def read_epoch(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        place = self._cursor.next_place
        taken = self._cursor.take_in_epoch(batch_size)
        return self._load(*taken, self._progress(place, batch_size), pool, batch_size)

    def _progress(
        self, place: tuple[int, int], batch_size: int, plan: Plan | None = None
    ) -> PlanProgress:
        """That of a batch which begins at this place of an epoch."""
        count = self.nominal or batch_size
        if count != self._counted_for:  # in buckets, the number of batches depends on it
            self._counted, self._counted_for = ({}, {}), count
        return PlanProgress(plan or self._cursor.plan, place, count, self._counted)

    def read_at(self, epoch: int, position: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        plan = self._cursor.plan.whole()
        if position >= plan.length(epoch):
            raise op.wrong_value(
                "position",
                f"from 0 to {plan.length(epoch) - 1} in an epoch of this data set",
                position,
            )
        place = epoch, position, position + 1
        count = self.nominal or 1
        self.expect(count)
        begin = self._cursor.plan.batch_of(epoch, position, count, self.across)
        progress = self._progress(begin, count)
        if self.shared_steps is not None:
            step = self.shared_steps.step_of(epoch, position)
            progress = progress if step is None else progress.in_epoch(step)
        return self._load(plan.indices(*place), plan.positions(*place), progress, pool)

    def read_part(self, part: EpochPart, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        plan = self._cursor.plan
        own = plan.whole() if part.shards == 1 else plan.of_process(part.shards, part.shard)
        place = part.epoch, part.start, part.stop
        progress = self._progress((part.epoch, part.start), part.stop - part.start, own)
        return self._load(own.indices(*place), own.positions(*place), progress, pool)

    def read_again(self, samples: SamplesAgain, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        indices, count = samples.indices, len(self._open()[0])
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < count:
            raise op.OperatorValueError(
                "the data set has no such sample",
                expected=f"numbers from 0 to {count - 1}",
                got=f"{int(indices.min())} to {int(indices.max())}",
            )
        return self._load(indices, samples.positions, samples.progress, pool)

    def plans(self, world: int) -> list[Plan]:
        return [self._cursor.plan.of_process(world, rank) for rank in range(world)]

    def _load(
        self,
        indices: op.Int64Array,
        positions: op.Int64Array,
        progress: Progress,
        pool: op.WorkerPool,
        batch_size: int = 0,
    ) -> tuple[op.Batch, ...]:
        """batch_size: of batches that come one after another; 0 for samples from anywhere."""
        table, cursor = self._open()
        if self._ahead is not None and batch_size:
            self._ahead.follow(cursor, indices)
        elif batch_size and self._arguments["read_ahead"]:
            count = len(indices) * self._arguments["prefetch_queue_depth"]
            self._reads.prefetch(cursor.coming(count))
        names = op.NamesOnDemand(table.names, indices)
        where = op.Provenance(positions, names, indices, progress=progress)
        table.device = self.device
        if self._begun is not None and batch_size:
            found = self._begun.read(indices, cursor, batch_size, pool)
        else:
            found = self._reads.read(indices, pool)
        records, origin = found.records, found.origin
        if self._arguments["with_index"]:
            records = with_column(records, column(indices, (1,), op.int64), where)
        return self._apply_policy(records, where, origin)

    def _apply_policy(
        self, records: Records, where: op.Provenance, origin: BatchOrigin
    ) -> tuple[op.Batch, ...]:
        columns, failures, names = records
        failed = frozenset(failures)
        for number, batch in enumerate(columns):
            named = where.names if names is None else names[number]
            own = origin.of(number, batch, failed)
            batch.provenance = op.Provenance(
                where.positions, named, where.indices, own, where.progress
            )
        if not failures:
            return columns
        for sample, error in failures.items():
            error.sample = sample  # of the whole batch, of which the table may have read a part
            error.complete(file=where.name(sample))
        policy = self._arguments["on_error"]
        if policy == "raise":
            raise failures[min(failures)]
        quarantine_samples(failures, self._operator.name, where)
        if policy == "replace":
            return columns
        valid = np.ones(len(where.positions), np.bool_)
        valid[list(failures)] = False
        return tuple(narrowed(batch, valid) for batch in columns)

    def close(self) -> None:
        if self._begun is not None:
            self._begun.close()
        if self._opened is not None and self._opened[0].storage is not None:
            self._opened[0].storage.forget()

    def classes(self) -> list[str] | None:
        return self._open()[0].classes()

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

    def batches(self, epoch: int, batch_size: int) -> int | None:
        cursor = self._cursor
        found = cursor.plan.fitted(batch_size, cursor.epoch, cursor.index)[0]
        return found.batches(epoch, batch_size) if found.bucketed else None

    def bucket(self, bucket: Any) -> None:
        table, cursor = self._open()
        plan = cursor.plan
        assert isinstance(plan, ShardedPlan)
        shared = self.shared_steps
        known = plan if shared is None else shared.common
        if isinstance(known, BucketPlan) and known.bucket == bucket:
            return
        if cursor.index:
            raise op.OperatorValueError(
                "an epoch goes on with the buckets it was begun with", argument="bucket"
            )
        self._counted = ({}, {})
        plain = sharded(self._arguments, len(table), plan.seed, plan.order)
        found = buckets_of(bucket, plain, lambda key: sizes_of(table, key))
        cursor.plan = found
        if shared is not None:
            common = sharing.whole_of(found)
            cursor.plan = sharing.interleaved(common, shared.share, shared.policy, shared.count)

    def most_at_once(self) -> int | None:
        shared = self.shared_steps
        plan = self._cursor.plan if shared is None else shared.common
        if not isinstance(plan, BucketPlan):
            return None
        bucket = plan.bucket
        if bucket.max_batch is None and bucket.max_tokens is None:
            raise op.OperatorValueError(
                "nothing says how large a batch may be",
                argument="batch_size",
                expected="a positive integer, or a bucket with `max_tokens` or `max_batch`",
                got="None",
            )
        begun = plan.count if self._cursor.index else None
        return begun or bucket.max_batch or plan.size

    def mark(self) -> Cursor:
        return replace(self._cursor)

    def rewind(self, mark: Cursor) -> None:
        self._opened = self._open()[0], replace(mark)

    def state_at(self, mark: Cursor) -> dict[str, Any]:
        return mark.get_state()

    def set_weights(self, mark: Cursor, weights: Any) -> None:
        self._sampled(mark).set_weights(mark.next_begin, weights, "weights")

    def feedback(self, mark: Cursor, positions: Any, scores: Any) -> None:
        order = self._sampled(mark)
        found = np.asarray(positions)
        if found.ndim != 1 or found.dtype.kind not in "iu":
            raise op.wrong_type("positions", "a batch, or positions", type(positions).__name__)
        try:
            values = np.asarray(scores, np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            raise op.wrong_type("scores", "numbers", type(scores).__name__) from None
        if len(values) != len(found):
            raise op.wrong_value("scores", f"one for each position, {len(found)}", len(values))
        own = found < PADDING
        indices = mark.plan.indices_at(found[own].astype(np.int64))
        order.score(mark.next_begin, indices, values[own])

    def _sampled(self, mark: Cursor) -> SampledOrder:
        plan = mark.plan
        if not (isinstance(plan, ShardedPlan) and isinstance(plan.order, SampledOrder)):
            raise op.OperatorValueError(
                "this reader has no weights", argument="sampler", expected="'weighted'", got="None"
            )
        return plan.order

    def get_state(self) -> dict[str, Any]:
        return self._cursor.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._counted = ({}, {})
        self._cursor.set_state(state)


def with_column(records: Records, more: op.Batch, where: op.Provenance) -> Records:
    """Records with another output behind them."""
    names = records.names
    if names is not None:
        names = (*names, list(where.names or ()))
    return Records((*records.columns, more), records.failures, names)


def _no_shard_of_its_own() -> op.OperatorValueError:
    return op.OperatorValueError(
        "readers that share each step of an epoch have no shard of their own to keep to",
        argument="stick_to_shard",
        expected="False; or sharding='contiguous'",
        got="True",
    )


def _refuse(given: dict[str, Any], container: bool) -> None:
    """Raise OperatorValueError for arguments that exclude each other."""
    if given["sharding"] == "interleaved" and given["stick_to_shard"]:
        raise _no_shard_of_its_own()
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
