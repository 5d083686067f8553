"""What the arguments of readers decide about, and the form in which arguments are compared."""

from __future__ import annotations

import enum
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from gradiva.eager.types.dtypes import DType

from .source import ValueEqual

PLACES: Final = frozenset(
    (
        *("file_root", "file_list", "files", "path", "paths", "index_path", "index_paths", "uris"),
        *("filename", "filenames", "annotations_file", "captions_file"),
        *("preprocessed_annotations",),
        *("meta_files_path", "storage_options"),
    )
)
"""Arguments of readers that are locations of data."""

SPEED: Final = frozenset(
    (
        *("prefetch_queue_depth", "read_ahead", "initial_fill", "lazy_init", "dont_use_mmap"),
        *("skip_cached_images", "tensor_init_bytes", "bytes_per_sample_hint", "no_copy"),
        *("use_o_direct", "num_workers", "read_ahead_bytes"),
    )
)
"""Arguments that do not change any bit of the results."""

SHARDS: Final = frozenset(("num_shards", "shard_id", "stick_to_shard"))
"""Arguments of readers that say which part of an epoch they read. Readers that share each step of
an epoch, and differ in nothing else, go on from the same state."""

ORDER: Final = frozenset(
    (
        *("random_shuffle", "shuffle_after_epoch", "shuffle_after_epoch_seed", "seed"),
        *("num_shards", "shard_id", "stick_to_shard", "pad_last_batch", "sharding"),
        *("sampler", "weights", "epoch_size", "bucket", "on_error", "with_index"),
    )
)
"""Arguments of readers that decide which samples are read, and when, but not what is in them."""


def canonical(value: Any, other: Callable[[Any], Any]) -> Any:
    """The form of a value that is compared: equal in every process, without addresses. other: what
    makes it of a value that is not plain."""
    if value is None or isinstance(value, bool | int | str | bytes):
        return value
    if isinstance(value, float):
        return float(value).hex()
    if isinstance(value, enum.Enum | DType):
        return value.name
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = np.ascontiguousarray(value)
        held = blake2b(array.tobytes(), digest_size=16).hexdigest()
        return [array.dtype.str, list(np.shape(value)), held]
    if isinstance(value, ValueEqual):
        return value.description
    if isinstance(value, tuple | list):
        return [canonical(item, other) for item in value]
    if isinstance(value, dict):
        return [[canonical(key, other), canonical(item, other)] for key, item in value.items()]
    return other(value)
