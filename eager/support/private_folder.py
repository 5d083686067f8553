"""Folders that only this user can write into."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def private_folder(path: Path) -> Path | None:
    """The folder, made if need be, if nobody but the user could have written into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or stat.S_IMODE(facts.st_mode) & 0o022:
        return None
    if hasattr(os, "getuid") and facts.st_uid != os.getuid():
        return None
    if stat.S_IMODE(facts.st_mode) & 0o077:
        path.chmod(0o700)
    return path
