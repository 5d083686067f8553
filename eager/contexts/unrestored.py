"""Objects whose state was loaded from a checkpoint, but not restored yet.

A program that registers first and loads later must call `restore`. Otherwise a loop over a reader
would begin at the start, so there is a warning.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gradiva.eager.support.user_warning import warn_user

_unrestored: weakref.WeakSet[Any] = weakref.WeakSet()


def note_unrestored(objects: Iterable[Any]) -> None:
    """A checkpoint with states for these objects was loaded."""
    for one in objects:
        with suppress(TypeError):  # a user's class without a hash, or without weak references
            _unrestored.add(one)


def is_placed(one: Any) -> None:
    """The object was restored, or its state is no longer needed."""
    with suppress(TypeError):
        _unrestored.discard(one)


def warn_if_unrestored(one: Any, name: str) -> None:
    """Warn, once, that an object is used before its state was restored. name: for the text."""
    if one not in _unrestored:
        return
    _unrestored.discard(one)
    warn_user(
        f"{name} begins where it is, and not where the checkpoint says that was loaded for it: "
        "call `restore()` of the Checkpoint after `load`, or `register` after it"
    )
