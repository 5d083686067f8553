"""The loops of an `IterableDataset` whose processes share each step of an epoch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch.utils.data

from gradiva.capture.iterators.elastic_state import Facts, Place, check_state, readers_that_share
from gradiva.eager.support.errors import wrong_value
from gradiva.ops.readers.sharding.interleaved import InterleavedPlan
from gradiva.ops.readers.sharding.layouts import Share

from .iterators import DALIGenericIterator

__all__ = ["SharedLoop", "global_place", "worker_now"]


def worker_now() -> tuple[int, int]:
    """The number of this worker of a DataLoader, and how many there are; 0 and 1 without."""
    info = torch.utils.data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class SharedLoop:
    """A pipeline of one process, which it reads epoch by epoch. readers: all of the pipeline."""

    def __init__(self, loop: DALIGenericIterator, share: Share) -> None:
        self.loop = loop
        self.share = share
        self.process = os.getpid()
        self._pipe = loop._pipes[0]
        self._readers = readers_that_share(self._pipe)
        self._facts: Facts | None = None
        self.begin = Place(0, 0)
        self.taken = 0
        self.finished = False

    @property
    def plan(self) -> InterleavedPlan:
        found: InterleavedPlan = self._readers[0].shared_steps
        return found

    def facts(self) -> Facts:
        """What is known of the pipeline, and the plan of its trainer without workers."""
        if self._facts is None:
            found = Facts.of(self._pipe)
            self._facts = found._replace(plan=found.plan.of_worker(1, 0))
        return self._facts

    def check(self, state: dict[str, Any]) -> None:
        """Raise OperatorValueError for a state of another graph, seed or data."""
        check_state(state, self.facts())

    def go_to(self, begin: Place, turn: int) -> None:
        """Begin there, before the first batch. turn: the worker that takes the first step."""
        for reader in self._readers:
            reader.go_to(*begin, turn)
        self.enter(begin)

    def enter(self, begin: Place) -> None:
        """The next batch is the first one from there."""
        self.begin, self.taken, self.finished = begin, 0, False
        self.loop._epoch, self.loop._done, self.loop._ended = begin.epoch, 0, False

    def next_place(self) -> Place:
        """Where the next step of this process begins."""
        if self.finished:
            return Place(self.begin.epoch + 1, 0)
        return Place(self.begin.epoch, self.plan.place(self.begin.epoch, self.taken))

    def batches(self) -> Iterator[dict[Any, Any]]:
        """Those of this process that are left of the epoch."""
        for _ in range(self.plan.batches(self.begin.epoch, 0)):
            self.loop._done = 0  # it counts the steps of a trainer, of which this may be a part
            (turn,) = next(self.loop)
            self.taken += 1
            yield turn
        self.finished = True

    @property
    def epoch(self) -> int:
        return self.begin.epoch

    def state(self) -> dict[str, Any]:
        """The place of this process, and of which worker it is."""
        found = self.facts().state(self.next_place())
        if self.share.workers > 1 or torch.utils.data.get_worker_info() is not None:
            found.update(worker=self.share.worker, workers=self.share.workers)
        return found

    def close(self) -> None:
        self._pipe.close()


def global_place(state: dict[str, Any], facts: Callable[[], Facts]) -> dict[str, Any]:
    """The state of all workers, from that of a StatefulDataLoader, which has one of each."""
    found: list[dict[str, Any]] = []
    _collect(state, found)
    if not found:
        return state
    first = min(found, key=lambda one: (one["epoch"], one["samples"]))
    made = {name: value for name, value in first.items() if name not in ("worker", "workers")}
    workers = {one.get("workers", 1) for one in found}
    if workers != {len(found)}:
        raise wrong_value(
            "state_dict",
            "the state of a whole StatefulDataLoader, or of a data set without workers",
            f"that of {len(found)} of {max(workers)} workers",
        )
    more = state.get("_steps_since_snapshot", 0)
    if more:
        place = facts().after(Place(made["epoch"], made["samples"]), more)
        made.update(place._asdict())
    return made


def _collect(state: Any, found: list[dict[str, Any]]) -> None:
    if not isinstance(state, dict):
        return
    if "samples" in state and "fingerprint" in state:
        found.append(state)
        return
    for value in state.values():
        _collect(value, found)
