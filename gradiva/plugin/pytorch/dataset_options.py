"""What an `IterableDataset` is made with, checked."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import PipelineFactory
from gradiva.eager.random.default_generator import default
from gradiva.eager.support.errors import describe, wrong_type, wrong_value
from gradiva.ops.readers.sampling.sampling_arguments import SHARDINGS

__all__ = [
    "batch_of_each",
    "check_count",
    "check_function",
    "check_sharding",
    "common_seed",
    "only_reader",
    "place_of",
]


def only_reader(pipe: Pipeline) -> str:
    names = list(pipe._built().readers())
    if len(names) != 1:
        raise wrong_value(
            "reader_name",
            (f"one of {', '.join(map(repr, names))}" if names else "a pipeline with a reader"),
            "none" if names else "a pipeline without",
        )
    return names[0]


def check_function(function: Any, needs_shards: bool) -> bool:
    """Whether a function takes the number of a shard. needs_shards: whether it must. Raises
    OperatorTypeError."""
    if not callable(function):
        raise wrong_type("pipeline_fn", "a function made by pipeline_def", describe(function))
    parameters = inspect.signature(function).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    missing = [name for name in ("shard_id", "num_shards") if name not in parameters]
    if missing and not open_ended and needs_shards:
        raise wrong_type(
            "pipeline_fn",
            "a function with the arguments `shard_id` and `num_shards`",
            f"none called {' or '.join(missing)}",
            "workers read a shard each",
        )
    return not missing or open_ended


def check_sharding(given: Any) -> str:
    if given not in SHARDINGS:
        raise wrong_value("sharding", " or ".join(map(repr, SHARDINGS)), describe(given))
    return str(given)


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


def batch_of_each(global_batch: int | None, world: int, sharding: str) -> dict[str, int]:
    """The option `batch_size` of a pipeline, if that of all trainers together was given."""
    check_count("global_batch_size", global_batch, 1)
    if global_batch is None:
        return {}
    if global_batch % world:
        raise wrong_value(
            "world_size",
            f"a divisor of {global_batch}",
            str(world),
            "each trainer takes the same part of `global_batch_size`",
        )
    if sharding != "interleaved":
        raise wrong_value(
            "sharding",
            "'interleaved', for steps that are the same for any number of trainers",
            repr(sharding),
        )
    return {"batch_size": global_batch // world}


def common_seed(function: Any, options: dict[str, Any], world: int) -> int | None:
    """The seed for pipelines that have none: processes must read parts of one order. Raises
    OperatorValueError."""
    given = options.get("seed")
    if given is None and isinstance(function, PipelineFactory):
        given = function.options.get("seed")
        if (given is None or given < 0) and world > 1:
            raise wrong_value(
                "seed",
                "a seed for the pipeline, the same in all processes",
                "none",
                "several processes need one order of samples, of which each reads a part",
            )
        if given is None or given < 0:
            return default.inherited_seed
    return None
