"""The state of iterators whose readers share each step of an epoch: it belongs to no process.

It is plain data: the epoch, the number of its samples that all processes have taken, the seed, and
a fingerprint of the graph and of the data. Any number of processes goes on from it.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from gradiva.capture.graph.fingerprint import fingerprint
from gradiva.capture.pipeline.facts import planned_graph
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import OperatorValueError, describe, wrong_type, wrong_value
from gradiva.ops.readers.core.argument_kinds import SHARDS
from gradiva.ops.readers.core.source import Source

if TYPE_CHECKING:
    from gradiva.ops.readers.sharding.interleaved import InterleavedPlan

__all__ = ["Facts", "Place", "check_state", "readers_that_share"]

_NUMBERS = {"epoch": 1 << 31, "samples": 1 << 62, "seed": 1 << 64}
"""What a state has, and below which number."""
_ANYHOW = SHARDS | {"sharding", "pad_last_batch"}


class Place(NamedTuple):
    """An epoch, and how many of its samples all processes have taken."""

    epoch: int
    samples: int


def identity(pipe: Pipeline) -> str:
    """A digest of what a pipeline computes, and of its data, the same in all processes that share
    them."""
    said = fingerprint(planned_graph(pipe))
    for operator in said["operators"]:
        for name in _ANYHOW:
            operator["arguments"].pop(name, None)
    contents = [source.contents() for source in pipe._built().plan.sources.values()]
    text = json.dumps([said, contents], sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def readers_that_share(pipe: Pipeline) -> list[Source]:
    """The readers of a pipeline, which all share steps. Raises OperatorValueError for others."""
    sources = pipe._built().plan.sources
    for node, source in sources.items():
        if source.shared_steps is None:
            error = OperatorValueError(
                "all sources of a pipeline share each step of an epoch with other processes, or "
                "none does",
                argument="sharding",
                expected="'interleaved' in all readers, and no other sources",
                got=f"`{node.operator.name}` without it",
            )
            raise pipe._built().plan.program.locate(error, node)
    return list(sources.values())


class Facts(NamedTuple):
    """What is known of a pipeline: the plan of its process, its seed, and what identifies it."""

    plan: InterleavedPlan
    seed: int
    fingerprint: str

    @staticmethod
    def of(pipe: Pipeline) -> Facts:
        """Those of a pipeline whose readers share steps. Raises OperatorValueError for others."""
        plan = readers_that_share(pipe)[0].shared_steps
        return Facts(plan, pipe._built().plan.seed, identity(pipe))

    def state(self, place: Place) -> dict[str, Any]:
        """The state at a place. It has also the size of batches, where the readers decide how large
        each is: then an epoch goes on with the same."""
        found = {**place._asdict(), "seed": self.seed, "fingerprint": self.fingerprint}
        if self.plan.own_batches:
            found["batch"] = self.batch
        return found

    @property
    def batch(self) -> int | None:
        """The samples that the reader was asked for at a time."""
        return self.plan.share.global_batch or self.plan.count

    def after(self, begin: Place, batches: int) -> Place:
        """Where a process is after so many batches from a place on."""
        plan = self.plan.placed(*begin)[0]
        return Place(begin.epoch, plan.place(begin.epoch, batches))


def check_state(state: Any, facts: Facts | None = None) -> Place:
    """The place in a state. Raises OperatorTypeError for what is no state, OperatorValueError for
    that of another graph, seed or data than those of a pipeline with these facts."""
    whole = isinstance(state, dict) and all(
        type(state.get(name)) is int and 0 <= state[name] < limit
        for name, limit in _NUMBERS.items()
    )
    if not whole or not isinstance(state.get("fingerprint"), str):
        raise wrong_type("state_dict", "what `state_dict` returned", describe(state))
    place = Place(state["epoch"], state["samples"])
    if facts is None:
        return place
    for name in ("seed", "fingerprint"):
        now = getattr(facts, name)
        if state[name] != now:
            raise wrong_value(
                "state_dict",
                f"the {name} {now}",
                str(state[name]),
                "the state belongs to another graph, another seed or other data",
            )
    if "batch" in state and place.samples and state["batch"] != facts.batch:
        raise wrong_value(
            "batch_size",
            f"{state['batch']}, as in the state",
            str(facts.batch),
            "the reader decides how large batches are: an epoch goes on as it was begun",
        )
    return place
