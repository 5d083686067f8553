"""Sizes of samples that are known without decoding them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.audio.audio_file import audio_info
from gradiva.ops.decoders.formats.decode import output_shape
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.readers.core.table import Table
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url

from .checks import Floats

_AT_ONCE = 64
"""Files whose headers are read together."""


def file_sizes(paths: Sequence[str], storage: Storage | None) -> op.Int64Array:
    """Bytes of files. What cannot be looked at has none; reading it says why."""
    known: dict[str, int] = {}
    if storage is not None:
        remote = [path for path in paths if is_url(path)]
        for path, facts in zip(remote, storage.facts(remote), strict=True):
            known[path] = 0 if isinstance(facts, StorageError) else facts.size
    return np.array([known[p] if p in known else _size(p) for p in paths], np.int64)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def sizes_of(table: Table, key: str) -> Floats | None:
    """A key of buckets for all samples of a table; None where it does not know that. What cannot be
    read has size 0: reading it in its batch says why."""
    if key == "bytes":
        found = table.sizes()
        return None if found is None else np.asarray(found, np.float64)
    if key == "duration":
        known = table.durations()
        return _peeked(table, _seconds) if known is None else known
    return _peeked(table, _PEEKS[key])


def _peeked(table: Table, peek: Callable[[Array], float]) -> Floats | None:
    """What a function finds in the bytes of each sample, 0 where it raises ValueError; None for a
    table of something else than files, and where it finds nothing in any of them."""
    sizes = np.zeros(len(table))
    pool = default_pool()
    for begin in range(0, len(table), _AT_ONCE):
        indices = np.arange(begin, min(begin + _AT_ONCE, len(table)), dtype=np.int64)
        files = table.read(indices, pool).columns[0]
        if files.dtype is not op.uint8 or files.ndim != 1:
            return None

        def look(first: int, last: int, files: Any = files, begin: int = begin) -> None:
            for sample in range(first, last):
                with suppress(ValueError):
                    sizes[begin + sample] = peek(files.array(sample))

        pool.run(look, files.batch_shape.shares(pool.num_threads))
    return sizes if sizes.any() or not len(sizes) else None


def _extent(data: Array) -> tuple[int, ...]:
    """Height and width of an image."""
    return output_shape(probe(data), "RGB", True)[:2]


def _seconds(data: Array) -> float:
    """Of an audio file."""
    info = audio_info(data)
    return info.frames / info.rate


_PEEKS: dict[str, Callable[[Array], float]] = {
    "pixels": lambda data: float(np.prod(_extent(data))),
    "height": lambda data: _extent(data)[0],
    "width": lambda data: _extent(data)[1],
}
