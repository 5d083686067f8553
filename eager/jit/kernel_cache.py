"""Where compiled kernels are kept on disk.

Nothing that goes wrong here stops an operator: what cannot be kept is compiled in each process, and
a warning says so once.
"""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from gradiva.eager.support.checked_file import read_checked, write_checked
from gradiva.eager.support.private_folder import private_folder

from .kernel_digest import UndescribedError, kernel_digest
from .prebuilt import prebuilt_folder, read_prebuilt

_UNFINISHED: Final = "unfinished"
"""The folder of files that are being written; they stay there if their process is killed."""
_HOUR: Final = 3600

_folder: Path | None = None
_folder_known = False
_lack = ""
_told = False


def cache_folder() -> Path | None:
    """Where compiled kernels are kept, or None if no private folder is available.

    What is kept holds pickles, so the folder must belong to the user and be closed to others.
    """
    global _folder, _folder_known, _lack
    if not _folder_known:
        root = os.environ.get("GRADIVA_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        path = Path(root, "gradiva")
        try:
            path = path.expanduser()
            _folder = private_folder(path)
            if _folder is None:
                _lack = f"{path} is no folder of this user, or others can write into it"
        except (OSError, RuntimeError) as error:
            _lack = f"{path}: {_text(error)}"
        _folder_known = True
        if _folder is not None:
            _drop_old(_folder)
    return _folder


def folder_to_keep_in() -> Path | None:
    """`cache_folder()`; warns if there is none."""
    base = cache_folder()
    if base is None:
        _tell(f"there is no folder for compiled kernels ({_lack})")
    return base


def why_no_cache_folder() -> str:
    """The reason why there is no `cache_folder()`; empty if there is one."""
    return _lack if cache_folder() is None else ""


class KernelFolder:
    """The compiled forms of one kernel: a file for each signature.

    name: of its folders; prebuilt: the one in the package, if there is one.
    """

    def __init__(self, name: str, prebuilt: Path | None) -> None:
        self.name = name
        self.is_prebuilt = prebuilt is not None
        self._prebuilt = prebuilt

    @cached_property
    def path(self) -> Path | None:
        """The folder in the cache, or None; made when it is asked for."""
        base = folder_to_keep_in()
        return base / self.name if base is not None and _is_usable(base / self.name) else None

    def read(self, name: str, meaning: str) -> bytes | None:
        """What was written under this name and with this meaning, bit by bit, or None."""
        meaning = f"{self.name} {meaning}"
        if self._prebuilt is not None:
            content = read_prebuilt(self._prebuilt / name, meaning)
            if content is not None:
                return content
        return None if self.path is None else read_checked(self.path / name, meaning)

    def write(self, name: str, meaning: str, content: bytes) -> None:
        """Keep it; what cannot be written costs time in other processes, no more."""
        if self.path is not None:
            keep_file(self.path / name, f"{self.name} {meaning}", content)

    def refuse(self, reason: str) -> None:
        """Something cannot be kept at all."""
        _tell(f"the compiled kernel {self.name} cannot be kept: {reason}")


def kernel_folder(function: Callable[..., Any]) -> KernelFolder | None:
    """The folder of one kernel, or None. Its name holds a digest of all that the machine code is
    made from, so that nothing stale is found in it."""
    try:
        name = f"{function.__name__}-{kernel_digest(function)}"
    except (UndescribedError, RecursionError) as error:
        _tell(f"the compiled kernel {function.__name__} cannot be kept: {error}")
        return None
    folder = KernelFolder(name, prebuilt_folder(name))
    return folder if folder.is_prebuilt or folder.path is not None else None


def _is_usable(path: Path) -> bool:
    """Whether a kernel's folder in the cache is there, or can be made; warns if not."""
    try:
        if private_folder(path) is None:
            _tell(f"{path} is no folder of this user, or others can write into it")
            return False
        with suppress(OSError):  # such as a cache that can only be read
            os.utime(path)
    except OSError as error:
        _tell(f"compiled kernels cannot be kept in {path.parent}: {_text(error)}")
        return False
    return True


def keep_file(path: Path, meaning: str, content: bytes) -> None:
    """Write a file of the cache, in a folder of `cache_folder()`; warn if that fails."""
    base = path.parent.parent
    try:
        for folder in (base, path.parent, base / _UNFINISHED):
            if private_folder(folder) is None:
                raise PermissionError(f"{folder} is not this user's alone")
        write_checked(path, meaning, content, base / _UNFINISHED, durable=False)
    except OSError as error:
        _tell(f"compiled kernels cannot be kept in {base}: {_text(error)}")


def _tell(problem: str) -> None:
    """Warn, once in a process."""
    global _told
    if not _told:
        _told = True
        warnings.warn(
            f"{problem}. Kernels are compiled again in every process, which takes seconds for each "
            "operator; set GRADIVA_CACHE to a folder of your own with room for them",
            RuntimeWarning,
            stacklevel=3,
        )


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _drop_old(base: Path) -> None:
    """Remove the folders of kernels that were not used for a month, and what was never finished.

    Another process may do the same at this moment.
    """
    now = time.time()
    with suppress(OSError):
        for folder in base.iterdir():
            with suppress(OSError):
                age = now - folder.stat().st_mtime
                if folder.name == _UNFINISHED:
                    _drop_unfinished(folder, now)
                elif folder.is_dir() and age > 30 * 24 * _HOUR:
                    shutil.rmtree(folder, ignore_errors=True)


def _drop_unfinished(folder: Path, now: float) -> None:
    for file in folder.iterdir():
        with suppress(OSError):
            if now - file.stat().st_mtime > _HOUR:
                file.unlink()
