"""The loops of an `IterableDataset` whose processes read shards that lie one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gradiva.capture.iterators.elastic_state import Place
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.contexts.checkpoint_files import unpack
from gradiva.eager.contexts.json_codec import from_json_value
from gradiva.eager.support.errors import wrong_value

from .iterators import DALIGenericIterator

__all__ = ["STATE", "ContiguousLoop", "is_state", "new_state", "place_of_state"]

STATE = {"epoch": int, "batches": int, "finished": bool, "shard": list}
"""What a state has, beside the checkpoint of the pipeline."""


def new_state(epoch: int, batches: int, finished: bool, shard: tuple[int, int]) -> dict[str, Any]:
    return {"epoch": epoch, "batches": batches, "finished": finished, "shard": list(shard)}


def is_state(state: Any) -> bool:
    """Whether this is a state of such a loop."""
    return isinstance(state, dict) and all(
        type(state.get(name)) is kind for name, kind in STATE.items()
    )


def place_of_state(state: dict[str, Any]) -> Place:
    """The place in such a state, where it is one of all processes: at the beginning or the end of
    an epoch, or of a shard that is the only one. Raises OperatorValueError for others."""
    if state["finished"] or "checkpoint" not in state:
        return Place(state["epoch"] + state["finished"], 0)
    if state["shard"] != [0, 1]:
        raise wrong_value(
            "state_dict",
            "a state that all processes share",
            "one of shard {} of {}".format(*state["shard"]),
            "the state belongs to one process, in the middle of an epoch: finish the epoch with "
            'sharding="contiguous", and as many processes and workers',
        )
    sources = unpack(state["checkpoint"], "pipeline")["sources"].values()
    places = [from_json_value(source["state"])["index"] for source in sources]
    return Place(state["epoch"], min(places))


class ContiguousLoop:
    """A pipeline of one shard, which is read epoch by epoch. taken: batches of its epoch that were
    taken before."""

    def __init__(
        self, loop: DALIGenericIterator, shard: tuple[int, int], epoch: int, taken: int = 0
    ) -> None:
        self.loop = loop
        self.share = shard
        self.process = os.getpid()
        self.epoch = epoch
        self.taken = taken
        self.finished = False

    @property
    def pipe(self) -> Pipeline:
        return self.loop._pipes[0]

    def enter(self, epoch: int) -> None:
        """The next batch is the first one of the next epoch."""
        self.loop.reset()
        self.epoch, self.taken, self.finished = epoch, 0, False

    def batches(self) -> Iterator[dict[Any, Any]]:
        """Those that are left of the epoch."""
        length = self.loop._until(self.epoch + 1) - self.loop._until(self.epoch)
        for _ in range(length - self.taken):
            (turn,) = next(self.loop)
            self.taken += 1
            yield turn
        self.finished = True

    def state(self) -> dict[str, Any]:
        """The place after the batch that was taken last."""
        found = new_state(self.epoch, self.taken, self.finished, self.share)
        return {**found, "checkpoint": self.loop.checkpoints()[0]}

    def close(self) -> None:
        self.pipe.close()
