"""Processes that multiprocessing starts: they serve `nvidia.dali` as their parent does.

A process that is spawned, or forked by a fork server, first reads how to prepare itself, then
imports the main script. So what is added to that is there before the script's imports. A process
that is forked has all of its parent's modules anyway.
"""

from __future__ import annotations

import multiprocessing.spawn
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradiva

__all__ = ["start", "stop"]

_FOLDER = str(Path(gradiva.__path__[0]).resolve().parent)
_original: Callable[[str], dict[str, Any]] | None = None


def start() -> None:
    """From now on, processes that are started serve `nvidia.dali` too."""
    global _original
    if multiprocessing.spawn.get_preparation_data is not _preparation:
        _original = multiprocessing.spawn.get_preparation_data
        multiprocessing.spawn.get_preparation_data = _preparation


def stop() -> None:
    """Undo `start`."""
    if multiprocessing.spawn.get_preparation_data is _preparation:
        assert _original is not None
        multiprocessing.spawn.get_preparation_data = _original  # type: ignore[assignment]


def _preparation(name: str) -> dict[str, Any]:
    assert _original is not None
    return {**_original(name), "gradiva": _Installed(list(sys.path))}


class _Installed:
    """Reading its pickle installs the alias. The process has not got the parent's `sys.path` yet,
    so that goes before it."""

    def __init__(self, path: list[str]) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        program = (
            f"import sys; sys.path[:] = {[*self._path, _FOLDER]!r}\n"
            "import gradiva.compat.alias as alias; alias.install()"
        )
        return exec, (program,)
