"""`LoaderIterator`: the batches of one trainer, made by the loaders of a pool."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.builtin_ops import random_key
from gradiva.capture.iterators.iterator_options import FACTS
from gradiva.capture.loop.compile import compile, trace
from gradiva.capture.pipeline.facts import planned_graph
from gradiva.eager.execution.quarantine import Quarantine, Quarantined
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    wrong_type,
    wrong_value,
)
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.source import EpochPart, SourceOperator
from gradiva.ops.readers.sharding.shard_schedule import EpochPosition, ShardSchedule

from .batch_fetcher import BatchFetcher, Waits
from .batch_producer import LoaderFacts
from .cluster import cluster_errors, errors, ray
from .frameworks import converted
from .graph_partition import TrainerProgram
from .loaded_batch import LoadedBatch
from .loader_options import Settings
from .transport import RayTransport

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LoaderIterator"]

_OF_PROCESS = {
    *("_transport", "_fetcher", "_answer", "_trainer", "_bad", "_name", "waits", "quarantine")
}
_EVERY = 16
"""Batches after which a trainer tells the ledger what it has seen."""


class LoaderIterator:
    """Batches of one trainer, as dicts, epoch by epoch; made by `LoaderPool.iterator`.

    A loop goes over an epoch, or over what is left of it; the next loop is the next epoch. It may
    be sent to the process of the trainer, in which it is used. `len` is the number of batches of
    the epoch. `waits` counts what this trainer has seen; `quarantine` has the samples that could
    not be read.

    A batch that fails raises its GradivaError where it would have come; the next one comes after
    it. OperatorRuntimeError also says that no loader has made a batch in time, and which was waited
    for; then the next turn waits for the same batch.
    """

    def __init__(
        self,
        loaders: dict[int, Any],
        ledger: Any,
        facts: LoaderFacts,
        schedule: ShardSchedule,
        rank: int,
        settings: Settings,
        state: dict[str, Any] | None,
    ) -> None:
        self._loaders = loaders
        self._registry = ledger
        self._facts = facts
        self._schedule = schedule
        self._rank = rank
        self._settings = settings
        self._lengths: dict[int, int] = {}
        self._place = EpochPosition()
        self._begin_anew()
        if state is not None:
            self.load_state_dict(state)

    def _begin_anew(self) -> None:
        """Nothing was asked for."""
        self._name = uuid.uuid4().hex
        self._transport: RayTransport | None = None
        self._fetcher: BatchFetcher | None = None
        self._answer: Any = None
        self._trainer: Callable[..., Any] | None = None
        self._version = 0
        self._bad: list[Quarantined] = []
        self._closed = False
        self.waits = Waits()
        self.quarantine = Quarantine()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OF_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin_anew()
        vars(self).update(state)

    def _length(self, epoch: int) -> int:
        """Samples in an epoch."""
        if not self._facts.uneven:
            return self._facts.length
        if epoch not in self._lengths:
            with cluster_errors("asking the loaders for the length of an epoch"):
                self._lengths[epoch] = self._asked_length(epoch)
        return self._lengths[epoch]

    def _asked_length(self, epoch: int) -> int:
        """The answer of the first loader that lives. Raises what Ray raises."""
        for number, loader in sorted(self._loaders.items()):
            try:
                found: int = ray.get(loader.length.remote(epoch), timeout=self._settings.timeout)
            except errors.RayActorError:
                if number == max(self._loaders):
                    raise
            else:
                return found
        raise AssertionError("a pool has loaders")

    @property
    def _steps(self) -> int:
        """At which step the epoch ends."""
        return self._schedule.steps(self._length(self._place.epoch), self._place.begin)

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Self:
        if self._place.step >= self._steps:
            self._move(EpochPosition(self._place.epoch + 1))
        return self

    def _move(self, place: EpochPosition) -> None:
        self._place = place
        self._fetcher = None

    def __next__(self) -> dict[str, Any]:
        if self._closed:
            raise OperatorRuntimeError("this iterator was closed", operator="LoaderIterator")
        with annotate_error("LoaderIterator"):
            fetcher = self._delivering()
            try:
                made = next(fetcher)
            except GradivaError as error:
                if not getattr(error, "again", False):
                    self._done(None)
                raise
            except StopIteration:
                self._report()
                raise
            self._done(made)
            return self._named(made)

    def _delivering(self) -> BatchFetcher:
        if self._transport is None:
            self._transport = RayTransport(
                self._loaders, self._facts.digest, self._settings.share_memory
            )
        if self._fetcher is None:
            settings = self._settings
            self._transport.forget()
            self._fetcher = BatchFetcher(
                self._transport,
                self._parts(self._place, self._steps),
                self._ahead,
                settings.max_bytes,
                settings.timeout,
                settings.patience,
                turn=self._rank * self._ahead,
                waits=self.waits,
            )
        return self._fetcher

    @property
    def _ahead(self) -> int:
        return self._settings.batches_ahead(len(self._loaders), self._schedule.world_size)

    def _parts(self, place: EpochPosition, steps: int) -> Iterator[EpochPart]:
        length = self._length(place.epoch)
        for step in range(place.step, steps):
            yield self._schedule.part(
                EpochPosition(place.epoch, place.begin, step), self._rank, length
            )

    def _done(self, made: LoadedBatch | None) -> None:
        """A batch has come, or is lost."""
        place = self._place
        self._place = EpochPosition(place.epoch, place.begin, place.step + 1)
        if made is not None and made.noted:
            self.quarantine.record(made.noted)
            self._bad += made.noted
        if self._bad or self.waits.batches % _EVERY == 0:
            self._report()

    def _report(self) -> None:
        """Tell the ledger what was seen, and hear of other loaders. Waits for nothing: a ledger
        that is gone costs its figures only."""
        try:
            if self._answer is not None and ray.wait([self._answer], timeout=0)[0]:
                answer, self._answer = ray.get(self._answer), None
                if answer is not None and self._transport is not None:
                    self._version, self._loaders = answer
                    self._transport.change(self._loaders)
                    if self._fetcher is not None:
                        self._fetcher.ahead = self._ahead
            if self._answer is None or self._bad:
                self._answer = self._registry.report.remote(
                    self._name, self.waits, self._bad, self._version
                )
                self._bad = []
        except errors.RayError:
            self._answer = None

    def _named(self, made: LoadedBatch) -> dict[str, Any]:
        batches = made.batches()
        if self._settings.trainer_fn is not None:
            if self._trainer is None:
                self._trainer = self._made_trainer(batches)
            outputs = self._trainer(*batches)
            batches = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
        names, form = self._settings.names, self._settings.form
        plain = [name for name in names if name not in FACTS]
        if len(plain) != len(batches):
            raise wrong_value(
                "output_map", f"a name for each of {len(batches)} outputs", repr(list(names))
            )
        waiting = iter(batches)
        return {
            name: converted(next(waiting), form) if name not in FACTS else self._fact(name, batches)
            for name in names
        }

    def _made_trainer(self, batches: Sequence[Batch]) -> Callable[..., Any]:
        """What the trainer does with these outputs of loaders. Raises OperatorValueError for random
        calls: here they have no place in the data."""
        function, cut = self._settings.trainer_fn, self._facts.cut
        if cut is not None:
            return TrainerProgram(planned_graph(self._settings.recipe.pipeline()), cut.sent)
        assert callable(function)
        for node in trace(function, *batches).nodes:
            if node.operator is random_key or isinstance(node.operator, SourceOperator):
                raise OperatorValueError(
                    "it draws random values or reads, which is for the loaders to do",
                    argument="trainer_fn",
                )
        return compile(function)

    def _fact(self, name: str, batches: Sequence[Batch]) -> Any:
        found = FACTS[name](batches)
        return converted(found, self._settings.form) if isinstance(found, Batch) else found

    def state_dict(self) -> dict[str, Any]:
        """The place after the batch that came last, as plain data: the same for all trainers of the
        same step. `load_state_dict` goes on from it, also with another number of trainers."""
        facts, place = self._facts, self._place
        state = self._schedule.state(place, self._length(place.epoch))
        return {**state, "seed": facts.seed, "digest": facts.digest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to the place of a state; batches that were asked for are not waited for. Raises
        OperatorValueError for a state of another graph, seed or data, OperatorTypeError for what is
        no state."""
        with annotate_error("LoaderIterator.load_state_dict"):
            if not isinstance(state, dict) or "epoch" not in state or "digest" not in state:
                raise wrong_type("state_dict", "what `state_dict` returned", repr(state))
            for name in ("seed", "digest"):
                now = getattr(self._facts, name)
                if state.get(name) != now:
                    raise wrong_value(
                        "state_dict",
                        f"the {name} {now}",
                        str(state.get(name)),
                        "the state belongs to another graph, another seed or other data",
                    )
            epoch = state["epoch"]
            length = self._length(epoch if isinstance(epoch, int) and epoch >= 0 else 0)
            self._move(self._schedule.resumed(state, length))

    def close(self) -> None:
        """Wait for no more batches. The loaders go on for others."""
        self._report()
        self._closed = True
        self._move(self._place)
        if self._transport is not None:
            self._transport.close()

    def __repr__(self) -> str:
        schedule = self._schedule
        return f"<LoaderIterator, trainer {self._rank} of {schedule.world_size}, {self._place}>"
