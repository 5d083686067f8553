"""Where compiled kernels are kept on disk, and when they are stale."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

__all__ = ["cache_folder", "kernel_digest", "kernel_folder", "teachers", "used_names"]

teachers: set[str] = set()
"""Modules that teach Numba something, and so have a part in all kernels."""

_folder: Path | None = None
_folder_known = False


def cache_folder() -> Path | None:
    """Where compiled kernels are kept, or None if no private folder can be had.

    Numba's cache is a pickle, so the folder must belong to the user and be closed to others.
    """
    global _folder, _folder_known
    if not _folder_known:
        _folder_known = True
        root = os.environ.get("GRADIVA_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        try:
            _folder = _private_folder(Path(root).expanduser() / "gradiva")
            if _folder is not None:
                _drop_old(_folder)
        except (OSError, RuntimeError):
            _folder = None
    return _folder


def kernel_folder(function: Callable[..., Any]) -> Path | None:
    """The folder of one kernel. Its name holds a digest of all that the machine code is made from:
    Numba itself notices a change of the kernel's own file only, not of a helper in another file."""
    base = cache_folder()
    if base is None:
        return None
    try:
        folder = _private_folder(base / f"{function.__name__}-{kernel_digest(function)}")
        if folder is not None:
            folder.touch()
    except OSError:
        return None
    return folder


def _private_folder(path: Path) -> Path | None:
    """The folder, made if need be, if nobody but the user could have written into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or stat.S_IMODE(facts.st_mode) & 0o022:
        return None
    if hasattr(os, "getuid") and facts.st_uid != os.getuid():
        return None
    path.chmod(0o700)
    return path


def _drop_old(base: Path) -> None:
    """Remove the folders of kernels that were not used for a month."""
    for folder in base.iterdir():
        if folder.is_dir() and time.time() - folder.stat().st_mtime > 30 * 24 * 3600:
            shutil.rmtree(folder, ignore_errors=True)


def kernel_digest(function: Callable[..., Any]) -> str:
    """A digest of a kernel's code, the constants it uses, and all that it calls."""
    digest = hashlib.sha256(f"{sys.version} {_taught(frozenset(teachers))}".encode())
    seen: set[str] = set()
    pending = [cast(FunctionType, function)]
    while pending:
        current = pending.pop()
        name = f"{current.__module__}.{current.__qualname__}"
        if name in seen:
            continue
        seen.add(name)
        digest.update(f"{name} {current.__defaults__}\n".encode())
        for code in _codes(current):
            constants = [item for item in code.co_consts if not hasattr(item, "co_code")]
            digest.update(code.co_code + f"{code.co_names} {constants}\n".encode())
        for used in sorted(used_names(current)):
            value = current.__globals__.get(used)
            value = getattr(value, "function", value)  # of a lazy kernel
            if isinstance(value, FunctionType):
                pending.append(value)
            elif isinstance(value, np.ndarray):
                digest.update(f"{used} {value.dtype} {value.shape}".encode() + value.tobytes())
            elif value is not None and not isinstance(value, ModuleType):
                digest.update(f"{used} {value!r}\n".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _taught(modules: frozenset[str]) -> str:
    """A digest of the files that teach Numba something."""
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(Path(str(sys.modules[name].__file__)).read_bytes())
    return digest.hexdigest()


def used_names(function: FunctionType) -> set[str]:
    """The global names, and attributes, that a function's code mentions."""
    return {name for code in _codes(function) for name in code.co_names}


def _codes(function: FunctionType) -> list[CodeType]:
    """The code of a function, and of those inside it."""
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return codes
