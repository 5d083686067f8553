"""The files in a folder that have the names of shards."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .shard_files import DATA, INDEX, NAME, is_ours


class FileFacts(NamedTuple):
    """Bytes of a file, and the nanosecond in which it was last changed."""

    size: int
    changed: int


class ShardFiles(NamedTuple):
    """The files in a folder that have our names."""

    path: Path
    indices: dict[bytes, FileFacts]
    datas: dict[bytes, FileFacts]

    @classmethod
    def of(cls, path: Path) -> ShardFiles:
        """Those in a folder; none if the folder is not there. Raises OSError."""
        found = cls(path, {}, {})
        with suppress(FileNotFoundError), os.scandir(path) as files:
            for file in files:
                match = NAME.fullmatch(file.name)
                if match is None:
                    continue
                with suppress(OSError):
                    facts = file.stat(follow_symlinks=False)
                    group = found.indices if match[2] == INDEX else found.datas
                    group[bytes.fromhex(match[1])] = FileFacts(facts.st_size, facts.st_mtime_ns)
        return found

    def remove_leftovers(self, before: int) -> None:
        """Remove files without the other one of their shard, of processes that were killed while
        they made or removed a shard."""
        for group, others, ending in (
            (self.indices, self.datas, INDEX),
            (self.datas, self.indices, DATA),
        ):
            for name, facts in group.items():
                if name not in others and facts.changed < before:
                    remove_file(self.path / f"gradiva-{name.hex()}{ending}")


def remove_file(path: Path) -> bool:
    """Remove a file with one of our names, if it begins as ours do. Returns whether it did so."""
    if not is_ours(path):
        return False
    try:
        path.unlink()
    except OSError:
        return False
    return True
