"""Warnings that point at the user's line, not at one of gradiva's."""

from __future__ import annotations

import warnings

from .errors import printable, user_location

__all__ = ["warn_user"]


def warn_user(text: str) -> None:
    """Give a UserWarning, by default once for each line of the user's; where that is not known, as
    in the thread of a pipeline, once in all."""
    where = user_location()
    if where is None:
        warnings.warn(printable(text), UserWarning, stacklevel=2)
    else:
        warnings.warn_explicit(printable(text), UserWarning, where.code.co_filename, where.line)
