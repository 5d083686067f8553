"""Kernels that were compiled when the package was built, and came with it.

They are files as in the cache of kernels (`eager/jit/kernel_cache.py`), in folders of the same
names: so they are found by the same digest and the same meaning, and only there where versions,
CPU and sources are what they were at the build. They are pickles, like those of the cache: a
file is read only if nobody but its owner can have written it, who is the user or the administrator.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from gradiva.eager.support.checked_file import verified_content

PREBUILT: Final = Path(__file__).absolute().parents[2] / "prebuilt"
"""The folder in the package; `building/backend.py` fills it."""


def prebuilt_folder(name: str) -> Path | None:
    """The folder with the prebuilt forms of a kernel, or None; name: as in the cache."""
    return PREBUILT / name if name in _names(PREBUILT) else None


@lru_cache(maxsize=4)
def _names(folder: Path) -> frozenset[str]:
    try:
        if not (_is_safe(folder.parent.stat(), stat.S_ISDIR) and _is_safe_folder(folder)):
            return frozenset()
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def read_prebuilt(path: Path, meaning: str) -> bytes | None:
    """What was written under this meaning, or None."""
    try:
        if not _is_safe_folder(path.parent):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            if not _is_safe(os.fstat(descriptor), stat.S_ISREG):
                return None
            return verified_content(file.read(), meaning)
    except OSError:
        return None


def _is_safe_folder(path: Path) -> bool:
    return _is_safe(path.lstat(), stat.S_ISDIR)


def _is_safe(facts: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is what is expected, and nobody but its owner could have written it."""
    if not hasattr(os, "getuid"):
        return False
    owners = (0, os.getuid())
    return is_kind(facts.st_mode) and not facts.st_mode & 0o022 and facts.st_uid in owners
