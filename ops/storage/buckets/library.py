"""obstore, also in a process that was forked from one that has imported it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import threading
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import IO, Any, Final

from gradiva.eager.support.lazy_import import can_import

_NATIVE: Final = "obstore._obstore"
"""The compiled module of obstore. It has the functions, and the classes of stores."""

_lock = threading.Lock()
_stale = False
"""Whether this process was forked from one with obstore."""
_copy: ModuleType | None = None


def has_obstore() -> bool:
    """Whether obstore is installed."""
    return can_import("obstore")


def library() -> Any:
    """The functions of obstore, its `exceptions`, and in `_store` its stores. Raises ImportError.

    obstore has one pool of threads for a process, which its compiled module holds forever. After a
    fork these threads are gone, and each request would wait for them without an end. A forked
    process therefore loads a second copy of the compiled module, which starts threads of its own.
    That takes 15 ms and the memory for the file. Stores of one copy cannot be used with another.
    """
    global _copy
    if not _stale:
        return importlib.import_module(_NATIVE)
    with _lock:
        if _copy is None:
            _copy = _second_copy()
        return _copy


def _second_copy() -> ModuleType:
    spec = importlib.util.find_spec(_NATIVE)
    if spec is None or spec.origin is None:
        raise ImportError(_NATIVE)
    with open(spec.origin, "rb") as file:
        content = file.read()
    # The loader of the system loads a file only once, so the copy has to be another file.
    with _executable_file() as copy:
        copy.write(content)
        copy.flush()
        path = copy.name if isinstance(copy.name, str) else f"/proc/self/fd/{copy.fileno()}"
        loader = ExtensionFileLoader(_NATIVE, path)
        made = importlib.util.spec_from_file_location(_NATIVE, path, loader=loader)
        assert made is not None
        # The module registers its parts. Other users of obstore keep those that they have.
        names = "obstore._store", "obstore.exceptions"
        before = {name: sys.modules[name] for name in names if name in sys.modules}
        module = importlib.util.module_from_spec(made)
        loader.exec_module(module)
        sys.modules.update(before)
    return module


def _executable_file() -> IO[bytes]:
    """A file in memory, where the system has such: a folder may forbid to load libraries."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("obstore"), "w+b")
    return tempfile.NamedTemporaryFile(suffix=".so")


def _after_fork() -> None:
    global _lock, _stale, _copy
    _lock, _copy = threading.Lock(), None
    _stale = _stale or _NATIVE in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
