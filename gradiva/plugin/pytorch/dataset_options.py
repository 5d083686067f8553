"""What an `IterableDataset` is made with, checked."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import describe, wrong_type, wrong_value

__all__ = ["STATE", "check_count", "check_function", "new_state", "only_reader", "place_of"]

STATE = {"epoch": int, "batches": int, "finished": bool, "shard": list}
"""What a state has, beside the checkpoint of the pipeline."""


def new_state(epoch: int, batches: int, finished: bool, shard: tuple[int, int]) -> dict[str, Any]:
    return {"epoch": epoch, "batches": batches, "finished": finished, "shard": list(shard)}


def only_reader(pipe: Pipeline) -> str:
    names = list(pipe._built().readers())
    if len(names) != 1:
        raise wrong_value(
            "reader_name",
            (f"one of {', '.join(map(repr, names))}" if names else "a pipeline with a reader"),
            "none" if names else "a pipeline without",
        )
    return names[0]


def check_function(function: Any) -> None:
    if not callable(function):
        raise wrong_type("pipeline_fn", "a function made by pipeline_def", describe(function))
    parameters = inspect.signature(function).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    missing = [name for name in ("shard_id", "num_shards") if name not in parameters]
    if missing and not open_ended:
        raise wrong_type(
            "pipeline_fn",
            "a function with the arguments `shard_id` and `num_shards`",
            f"none called {' or '.join(missing)}",
            "workers read a shard each",
        )


def check_count(name: str, given: Any, least: int) -> None:
    if given is not None and (
        isinstance(given, bool) or not isinstance(given, int) or given < least
    ):
        raise wrong_value(name, f"an integer from {least} on", describe(given))


def place_of(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """The number of this process, and how many there are."""
    distributed: Any = torch.distributed
    joined = distributed.is_available() and distributed.is_initialized()
    if rank is None and world_size is None and joined:
        return distributed.get_rank(), distributed.get_world_size()
    check_count("rank", rank, 0)
    check_count("world_size", world_size, 1)
    place = rank or 0, world_size or 1
    if place[0] >= place[1]:
        raise wrong_value("rank", f"a number below {place[1]}", str(place[0]))
    return place
