"""Warnings that point at the user's line, not at one of gradiva's."""

from __future__ import annotations

import warnings
from typing import Any

from .errors import printable, user_location

_registries: dict[str, dict[Any, Any]] = {}
"""What Python has shown of the warnings about the lines of each file. Without such a registry it
would show a warning each time, whatever the filters say."""
_first_texts: dict[tuple[str, int, str], str] = {}
"""The text of the first warning on a topic at a line."""


def warn_user(
    text: str, category: type[Warning] = UserWarning, *, topic: str | None = None
) -> None:
    """Give a warning, by default once for each line of the user's; where that is not known, as in
    the thread of a pipeline, once in all.

    topic: what the warning is about, if its text has facts that differ from call to call: the first
    text is then given each time, so that Python knows it for the same warning.
    """
    where = user_location()
    file, line = ("", 0) if where is None else (where.code.co_filename, where.line)
    text = printable(text)
    if topic is not None:
        text = _first_texts.setdefault((file, line, topic), text)
    if where is None:
        warnings.warn(text, category, stacklevel=2)
    else:
        registry = _registries.setdefault(file, {})
        warnings.warn_explicit(text, category, file, line, registry=registry)
