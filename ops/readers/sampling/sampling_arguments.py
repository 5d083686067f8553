"""The arguments of readers that say which samples are read, and the plan that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.ops.readers.core.order import Order, Shuffled
from gradiva.ops.readers.core.plan import ShardedPlan

from .bucket import Bucket
from .bucket_plan import BucketPlan
from .checks import Floats, as_weights, digest
from .classes import Balanced
from .sampled_order import SampledOrder
from .samplers import Function, Sampler, ShuffleBlocks, Weighted

__all__ = [
    "SHARDINGS",
    "BucketLike",
    "SamplerLike",
    "Sharding",
    "Weights",
    "buckets_of",
    "order_of",
    "sharded",
    "shuffles",
]

SHARDINGS = ("interleaved", "contiguous")
_NAMED = ("weighted", "balanced", "shuffle_blocks")


def _sampler(value: Any) -> Any:
    if isinstance(value, Sampler) or value in _NAMED:
        return value
    if callable(value) and not isinstance(value, type):
        return Function(value)
    raise TypeError


def _bucket(value: Any) -> Bucket:
    if not isinstance(value, Bucket):
        raise TypeError
    return value


SamplerLike: TypeAlias = Annotated[
    Any,
    ArgumentType(
        "SamplerLike",
        "a sampler of gradiva.samplers, a function of the epoch, or one of "
        + ", ".join(map(repr, _NAMED)),
        _sampler,
    ),
]
BucketLike: TypeAlias = Annotated[
    Any, ArgumentType("BucketLike", "a gradiva.samplers.Bucket", _bucket)
]
Weights: TypeAlias = Annotated[
    Any, ArgumentType("Weights", "a number for each", lambda value: as_weights(value, "weights"))
]


def _sharding(value: Any) -> str:
    if value not in SHARDINGS:
        raise ValueError
    return str(value)


Sharding: TypeAlias = Annotated[
    Literal["contiguous", "interleaved"],
    ArgumentType("Sharding", "'contiguous' or 'interleaved'", _sharding),
]


def sampler_of(given: dict[str, Any]) -> Sampler | None:
    """The sampler of a reader. Raises OperatorValueError for arguments that do not fit together."""
    chosen, weights, size = given["sampler"], given["weights"], given["epoch_size"]
    if size is not None and size < 1:
        raise op.wrong_value("epoch_size", "a positive integer", size)
    if weights is not None and chosen != "weighted":
        raise op.OperatorValueError(
            "the weights of this sampler are its own" if chosen else "weights need a sampler",
            argument="weights",
            expected='sampler="weighted"',
            got=f"sampler={chosen!r}",
        )
    if size is not None and chosen not in ("weighted", "balanced"):
        raise op.OperatorValueError(
            "the size of an epoch needs a sampler by its name; others are given it themselves",
            argument="epoch_size",
            expected='sampler="weighted" or "balanced"',
            got=f"sampler={chosen!r}",
        )
    if chosen == "weighted":
        return Weighted(weights, epoch_size=size)
    if chosen == "balanced":
        return Balanced(epoch_size=size)
    if chosen == "shuffle_blocks":
        return ShuffleBlocks()
    return None if chosen is None else _checked(chosen)


def _checked(sampler: Any) -> Sampler:
    assert isinstance(sampler, Sampler)
    return sampler


def shuffles(given: dict[str, Any]) -> bool:
    """Whether the reader was asked to shuffle."""
    return bool(given["random_shuffle"] or given["shuffle_after_epoch"])


def order_of(
    given: dict[str, Any], size: int, seed: int, labels: Callable[[], op.Int64Array | None]
) -> Order:
    """The order of the epochs of a reader. Raises OperatorValueError, OperatorTypeError."""
    sampler, shuffle = sampler_of(given), shuffles(given)
    if sampler is None:
        return Shuffled(size, seed, shuffle)
    return SampledOrder(sampler, size, seed, shuffle, labels)


def sharded(given: dict[str, Any], size: int, seed: int, order: Order) -> ShardedPlan:
    """The plan of a reader without buckets."""
    return ShardedPlan(
        size,
        seed,
        shuffles(given),
        given["num_shards"],
        given["shard_id"],
        given["stick_to_shard"],
        given["pad_last_batch"],
        order,
    )


def buckets_of(
    bucket: Bucket, plan: ShardedPlan, known: Callable[[str], Floats | None]
) -> BucketPlan:
    """The plan in buckets. Raises OperatorValueError, OperatorTypeError."""
    if not isinstance(bucket, Bucket):
        raise op.wrong_type("bucket", "a gradiva.samplers.Bucket", repr(bucket))
    if plan.order.unit > 1 or plan.order.grouped:
        raise op.OperatorValueError(
            "the order has groups of its own, which buckets would take apart",
            argument="bucket",
            expected="none",
            got=bucket.description,
        )
    sizes = np.asarray(bucket.sizes(plan.size, known), np.float64)
    sampled = isinstance(plan.order, Shuffled) and not plan.order.shuffle
    return BucketPlan(
        plan.size,
        plan.seed,
        plan.shuffle,
        plan.num_shards,
        plan.shard_id,
        plan.stick_to_shard,
        plan.pad,
        plan.order,
        bucket=bucket,
        sizes=sizes,
        mixed=not sampled,
        held=digest(sizes),
    )
