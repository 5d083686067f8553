"""The arguments that all readers take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType

__all__ = ["SHUFFLED_AFTER", "DTypes", "ReaderArguments", "ReaderOptions", "dtypes_of"]


SHUFFLED_AFTER = "shuffle_after_epoch", "shuffle_after_epoch_seed"
"""Arguments that some readers of the reference lack."""


def dtypes_of(value: Any) -> tuple[op.DType, ...]:
    """Element types, from one or several. Raises what `DType.of` does."""
    several = value if isinstance(value, list | tuple) else (value,)
    return tuple(op.DType.of(one) for one in several)


DTypes: TypeAlias = Annotated[
    op.DTypeLike | Sequence[op.DTypeLike],
    ArgumentType("DTypes", "an element type or several", dtypes_of),
]


@op.argument_group(
    random_shuffle=False,
    shuffle_after_epoch=False,
    initial_fill=1024,
    num_shards=1,
    shard_id=0,
    stick_to_shard=False,
    pad_last_batch=False,
    lazy_init=False,
    read_ahead=False,
    prefetch_queue_depth=1,
    dont_use_mmap=False,
    skip_cached_images=False,
    tensor_init_bytes=1048576,
    on_error="raise",
)
class ReaderArguments(TypedDict, total=False):
    """
    Args:
        random_shuffle: read each epoch in an order of its own, a permutation of the whole data set
            that depends on the seed and the epoch only.
        shuffle_after_epoch: means the same here.
        shuffle_after_epoch_seed: sets the seed of it.
        initial_fill: the size of the shuffling buffer elsewhere; accepted and not needed: the whole
            data set is the buffer.
        num_shards, shard_id: read one part of the data set; the parts are equal up to one sample.
        stick_to_shard: keep to this part, instead of moving to the next one at each epoch.
        pad_last_batch: repeat the last sample so that all shards have epochs of one length and the
            last batch is full.
        lazy_init: look for the data at the first read.
        read_ahead: ask the system to fetch the data of the next `prefetch_queue_depth` batches.
        prefetch_queue_depth: with `read_ahead`, of how many batches the data are fetched.
        dont_use_mmap: files are always read and never mapped, because a mapped file that shrinks
            kills the process.
        skip_cached_images: there is no decoder cache on the CPU.
        tensor_init_bytes: buffers are sized from the data.
        on_error: the error policy for a sample that cannot be read. "raise" (default) fails the
            batch; "skip" takes the sample out of all outputs, while the positions of the others
            stay; "replace" delivers an empty sample where it could not be read. A decoder says of
            no bytes that the file is empty, so it needs an `on_error` of its own. See
            `docs/errors.md`.
    """

    random_shuffle: bool
    shuffle_after_epoch: bool
    shuffle_after_epoch_seed: int | None
    initial_fill: int
    num_shards: int
    shard_id: int
    stick_to_shard: bool
    pad_last_batch: bool
    lazy_init: bool
    read_ahead: bool
    prefetch_queue_depth: int
    dont_use_mmap: bool
    skip_cached_images: bool
    tensor_init_bytes: int
    on_error: op.OnError


class ReaderOptions(ReaderArguments, op.Common, total=False):
    """For type checkers: what stands for `**options` of a reader's type rule."""
