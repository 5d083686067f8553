"""Objects for which a checkpoint was loaded, and which `restore` has not put into their places.

A program that registers first and loads then must call `restore`; a loop over a reader that was
forgotten begins at the start, and says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gradiva.eager.support.user_warning import warn_user

__all__ = ["is_placed", "note_unrestored", "warn_if_unrestored"]

_unrestored: weakref.WeakSet[Any] = weakref.WeakSet()


def note_unrestored(objects: Iterable[Any]) -> None:
    """A checkpoint that has states for these was loaded."""
    for one in objects:
        with suppress(TypeError):  # a user's class without a hash, or without weak references
            _unrestored.add(one)


def is_placed(one: Any) -> None:
    """It has been given a state, or nobody wants that any more."""
    with suppress(TypeError):
        _unrestored.discard(one)


def warn_if_unrestored(one: Any, name: str) -> None:
    """Warn, once, that an object is used although its state still waits. name: for the text."""
    if one not in _unrestored:
        return
    _unrestored.discard(one)
    warn_user(
        f"{name} begins where it is, and not where the checkpoint says that was loaded for it: "
        "call `restore()` of the Checkpoint after `load`, or `register` after it"
    )
