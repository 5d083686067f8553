"""The state of iterators whose readers share each step of an epoch: it belongs to no process.

It is plain data: the epoch, the number of its samples that all processes have taken, the seed, and
a fingerprint of the graph and of the data. Any number of processes goes on from it.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, NamedTuple

from gradiva.capture.graph.fingerprint import fingerprint
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import OperatorValueError, describe, wrong_type, wrong_value
from gradiva.ops.readers.core.argument_kinds import SHARDS
from gradiva.ops.readers.core.source import Source

__all__ = ["Place", "check_state", "identity", "readers_that_share", "state_of"]

_NUMBERS = ("epoch", "samples", "seed")
_ANYHOW = SHARDS | {"sharding", "pad_last_batch"}


class Place(NamedTuple):
    """An epoch, and how many of its samples all processes have taken."""

    epoch: int
    samples: int


def identity(pipe: Pipeline) -> str:
    """A digest of what a pipeline computes, and of its data, the same in all processes that share
    them."""
    said = fingerprint(pipe._recorded())
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
                "a state that all processes share needs readers that share each step of an epoch",
                argument="sharding",
                expected="'interleaved' in all readers",
                got=f"`{node.operator.name}` without it",
            )
            raise pipe._built().plan.program.locate(error, node)
    return list(sources.values())


def state_of(pipe: Pipeline, place: Place) -> dict[str, Any]:
    """The state at a place. It has also the size of batches, where the readers decide how large
    each is: then an epoch goes on with the same."""
    found = {
        "epoch": place.epoch,
        "samples": place.samples,
        "seed": pipe._built().plan.seed,
        "fingerprint": identity(pipe),
    }
    plan = readers_that_share(pipe)[0].shared_steps
    if plan.own_batches:
        found["batch"] = plan.share.global_batch or plan.count
    return found


def check_state(state: Any, pipe: Pipeline | None = None) -> Place:
    """The place in a state. Raises OperatorTypeError for what is no state, OperatorValueError for
    that of another graph, seed or data than those of `pipe`."""
    whole = isinstance(state, dict) and all(
        type(state.get(name)) is int and state[name] >= 0 for name in _NUMBERS
    )
    if not whole or not isinstance(state.get("fingerprint"), str):
        raise wrong_type("state_dict", "what `state_dict` returned", describe(state))
    place = Place(state["epoch"], state["samples"])
    if pipe is None:
        return place
    for name, now in (("seed", pipe._built().plan.seed), ("fingerprint", identity(pipe))):
        if state[name] != now:
            raise wrong_value(
                "state_dict",
                f"the {name} {now}",
                str(state[name]),
                "the state belongs to another graph, another seed or other data",
            )
    plan = readers_that_share(pipe)[0].shared_steps
    batch = plan.share.global_batch or plan.count
    if "batch" in state and place.samples and state["batch"] != batch:
        raise wrong_value(
            "batch_size",
            f"{state['batch']}, as in the state",
            str(batch),
            "the reader decides how large batches are: an epoch goes on as it was begun",
        )
    return place
