"""The arguments that all readers take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.ops.storage.storage import Storage

from .sampling.sampling_arguments import BucketLike, SamplerLike, Sharding, Weights

OWN = (
    "sharding",
    "sampler",
    "weights",
    "epoch_size",
    "bucket",
    "with_index",
    "storage_options",
    "read_ahead_bytes",
)
"""Arguments that DALI does not have."""
SHUFFLED_AFTER = "shuffle_after_epoch", "shuffle_after_epoch_seed"
"""Arguments that some readers of DALI lack."""


def dtypes_of(value: Any) -> tuple[op.DType, ...]:
    """Element types, from one or several. Raises what `DType.of` does."""
    several = value if isinstance(value, list | tuple) else (value,)
    return tuple(op.DType.of(one) for one in several)


DTypes: TypeAlias = Annotated[
    op.DTypeLike | Sequence[op.DTypeLike],
    ArgumentType("DTypes", "an element type or several", dtypes_of),
]


def _options(value: Any) -> str:
    """Options as plain text, which graphs hold. Raises TypeError and ValueError."""
    given = json.loads(value) if isinstance(value, str) else dict(value)
    if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
        raise TypeError
    return json.dumps(given, sort_keys=True)


StorageOptions: TypeAlias = Annotated[
    Mapping[str, Any] | str,
    ArgumentType("StorageOptions", "a dictionary of plain values, as JSON has them", _options),
]


@op.argument_group(
    random_shuffle=False,
    shuffle_after_epoch=False,
    initial_fill=1024,
    num_shards=1,
    shard_id=0,
    stick_to_shard=False,
    pad_last_batch=False,
    sharding="contiguous",
    lazy_init=False,
    read_ahead=False,
    prefetch_queue_depth=1,
    dont_use_mmap=False,
    skip_cached_images=False,
    tensor_init_bytes=1048576,
    storage_options="{}",
    read_ahead_bytes=None,
    on_error="raise",
    with_index=False,
)
class ReaderArguments(TypedDict, total=False):
    """
    Args:
        random_shuffle: read each epoch in an order of its own, a permutation of the whole data set
            that depends on the seed and the epoch only.
        shuffle_after_epoch: the same as `random_shuffle`.
        shuffle_after_epoch_seed: the seed of `shuffle_after_epoch`.
        initial_fill: without effect: there is no shuffle buffer, since the whole data set is
            shuffled.
        num_shards, shard_id: read one part of the data set; the parts are equal up to one sample.
        stick_to_shard: keep to this part, instead of moving to the next one at each epoch.
        pad_last_batch: repeat the last sample so that all shards have epochs of one length and the
            last batch is full.
        sharding: how the parts lie in an epoch. "contiguous" (default): one after the other.
            "interleaved": step t of all readers takes the next `num_shards` batches of the epoch's
            order, of which this one takes number `shard_id`. Then a state is the same for all
            readers, and is continued with any `num_shards`. An epoch ends with a smaller batch, or
            a full one with `pad_last_batch`. See `docs/scale.md`.
        lazy_init: look for the data only when it is first read.
        read_ahead: ask the system to fetch the data of the next `prefetch_queue_depth` batches.
        prefetch_queue_depth: with `read_ahead`, of how many batches the data are fetched.
        dont_use_mmap: files are always read and never mapped, because a mapped file that shrinks
            kills the process.
        skip_cached_images: without effect, since there is no decoder cache.
        tensor_init_bytes: without effect, since buffers have the size of the data.
        storage_options: what fsspec is given to open URLs, such as `{"anon": True}` for a public
            bucket; for buckets, obstore takes the usual ones, see `docs/readers.md`. A pipeline
            with it cannot be stored. Secrets belong in the environment.
        read_ahead_bytes: for data behind URLs, how many bytes may be fetched ahead and wait in
            memory; by default `GRADIVA_STORAGE_READ_AHEAD`, or 256 MiB. See `docs/readers.md`.
        on_error: the error policy for a sample that cannot be read. "raise" (default) fails the
            batch; "skip" takes the sample out of all outputs, while the positions of the others
            stay; "replace" delivers an empty sample where it could not be read. A decoder says of
            no bytes that the file is empty, so it needs an `on_error` of its own. See
            `docs/errors.md`.
        sampler: which samples an epoch has: a sampler of `gradiva.samplers`, "weighted",
            "balanced", "shuffle_blocks", or a function of the epoch that returns numbers of
            samples. By default each sample once. See `docs/readers.md`.
        weights: with "weighted", a number from 0 on for each sample of the data set.
        epoch_size: with "weighted" and "balanced", the number of samples in an epoch; by default as
            many as the data set has.
        bucket: a `gradiva.samplers.Bucket`: batches of samples of about one size, and of as many
            as fit a budget, at most a full batch.
        with_index: add an output, int64 of shape (1,): the number of the sample in the data set.
    """

    random_shuffle: bool
    shuffle_after_epoch: bool
    shuffle_after_epoch_seed: int | None
    initial_fill: int
    num_shards: int
    shard_id: int
    stick_to_shard: bool
    pad_last_batch: bool
    sharding: Sharding
    lazy_init: bool
    read_ahead: bool
    prefetch_queue_depth: int
    dont_use_mmap: bool
    skip_cached_images: bool
    tensor_init_bytes: int
    storage_options: StorageOptions
    read_ahead_bytes: int | None
    on_error: op.OnError
    sampler: SamplerLike | None
    weights: Weights | None
    epoch_size: int | None
    bucket: BucketLike | None
    with_index: bool


class ReaderOptions(ReaderArguments, op.Common, total=False):
    """For type checkers: what stands for `**options` of a reader's type rule."""


def storage_of(given: Mapping[str, Any]) -> Storage:
    """What reads the URLs among the arguments of a reader; it begins with the first one."""
    return Storage(given["storage_options"], given["read_ahead_bytes"])
