"""What a folder of a cache holds, whether it is undamaged, and removing it: for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from .catalog import Catalog
from .entry import Entry
from .folder import Folder, ShardFiles, remove_file
from .shard_files import DATA, INDEX, VERSION, read_blocks

_DAY: Final = 86400
_NANO: Final = 10**9


class FolderReport(NamedTuple):
    """What a folder holds.

    bytes: of all files; kinds: the entries of each dtype and layout, by "uint8 HWC"; failures are
    damaged samples; damaged_indices: names of files that end in a damaged record, or begin with a
    damaged header; other_versions: names of files of another version of the format; oldest_use,
    newest_use: seconds since the epoch of the system, None where there is no shard.
    """

    entries: int
    bytes: int
    shards: int
    kinds: dict[str, int]
    damaged_indices: list[str]
    other_versions: list[str]
    oldest_use: float | None
    newest_use: float | None


def _opened(path: Path) -> tuple[Folder, Catalog]:
    catalog = Catalog()
    folder = Folder(path, catalog)
    folder.look()
    return folder, catalog


def examine(path: Path) -> FolderReport:
    """What a folder holds. Raises OSError if it cannot be read."""
    folder, catalog = _opened(path)
    kinds = Counter(f"{entry.dtype} {entry.layout}".rstrip() for entry in catalog.entries())
    shards = list(folder.shards())
    damaged = [one for one in shards if one.is_damaged or one.version is None]
    others = [one for one in shards if one.version not in (None, VERSION)]
    used = [facts.changed / _NANO for facts in ShardFiles.of(path).indices.values()]
    return FolderReport(
        sum(kinds.values()),
        folder.held,
        len(shards),
        dict(kinds.most_common()),
        sorted(one.index.name for one in damaged),
        sorted(one.index.name for one in others),
        min(used, default=None),
        max(used, default=None),
    )


def verify(
    path: Path, counted: Callable[[Iterable[Entry], int], Iterator[Entry]]
) -> tuple[int, int]:
    """Read all entries. Returns how many there are, and how many of these are damaged or lost,
    where an index that ends in a damaged record counts as one. Raises OSError.

    counted: hands on the entries, whose number it is told, and shows how many are read.
    """
    folder, catalog = _opened(path)
    damaged = folder.damaged + sum(one.version is None for one in folder.shards())
    count = 0
    for entry in counted(catalog.entries(), len(catalog)):
        count += 1
        damaged += not _is_good(entry)
    return count, damaged


def _is_good(entry: Entry) -> bool:
    try:
        opened = entry.opened or entry.shard.open()
        data = np.empty(entry.stored, np.uint8)
    except (OSError, MemoryError, ValueError):
        return False
    if opened is None:
        return False
    return not entry.stored or read_blocks(opened.handle, entry, data, 0, entry.stored)


def clear(path: Path, days: float | None = None) -> tuple[int, int]:
    """Remove our files. Returns how many there were, and their bytes. Raises OSError.

    days: only of shards that were last used so many days ago.
    """
    files = ShardFiles.of(path)
    before = None if days is None else (time.time() - days * _DAY) * _NANO
    count = size = 0
    for name in files.indices.keys() | files.datas.keys():
        used = files.indices.get(name) or files.datas[name]
        if before is not None and used.changed >= before:
            continue
        # The index first: without one, data are not found.
        for group, ending in ((files.indices, INDEX), (files.datas, DATA)):
            if name in group and remove_file(path / f"gradiva-{name.hex()}{ending}"):
                count, size = count + 1, size + group[name].size
    return count, size
