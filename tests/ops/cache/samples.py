"""What the tests of stores put into them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.ops.cache.disk_store import DiskStore
from gradiva.ops.cache.store import Store

Array = np.ndarray[Any, Any]

__all__ = ["LARGE", "digest", "fill", "found", "images", "indices", "opened"]

LARGE = 1 << 30


def digest(name: object) -> bytes:
    """A key."""
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()


def images(count: int, seed: int = 0, side: int = 300) -> list[Array]:
    """Images of other sizes: fewer bytes than a block, some blocks, and no multiple of a word."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(1, side, (count, 2)).tolist()
    return [rng.integers(0, 256, (*shape, 3), dtype=np.uint8) for shape in shapes]


def fill(store: Store, values: Iterable[Array], name: str = "") -> list[bytes]:
    """Put values; returns their keys."""
    values = list(values)
    keys = [digest((name, number)) for number in range(len(values))]
    store.put_many(keys, values, "HWC", [0.25] * len(values))
    return keys


def found(store: Store, keys: Iterable[bytes]) -> list[Array | None]:
    """What the store has under some keys: the values, and None for what it does not have."""
    read: list[Array | None] = []
    for entry in store.find(list(keys)):
        out = None if entry is None else np.empty(entry.shape, entry.dtype)
        good = entry is not None and out is not None and store.read(entry, out)
        read.append(out if good else None)
    return read


def opened(folder: Path, capacity: int = LARGE) -> DiskStore:
    """A store of its own, as another process has one."""
    return DiskStore(folder, capacity)


def indices(folder: Path, ending: str = ".index") -> list[Path]:
    """The files of the shards."""
    return sorted(folder.glob(f"gradiva-*{ending}"))
