"""Arguments of old scripts: their current names, or that they have no effect."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from gradiva.eager.support.errors import OperatorTypeError, user_location

_warned: dict[tuple[str, str, int], object] = {}


def modern_arguments(
    operator: str, old: Mapping[str, str | None], given: dict[str, Any], quiet: bool
) -> dict[str, Any]:
    """The arguments of a call under the names of today, with a warning for each old one,
    unless `quiet`.

    old: the names of today, None where there is no such argument any more. Raises
    OperatorTypeError where an argument is given under both names.
    """
    result = {name: value for name, value in given.items() if name not in old}
    for name, new in old.items():
        value = given.get(name)
        if value is None:
            continue
        if new is None:
            text = f"{operator}: the argument `{name}` has no effect any more"
        elif result.get(new) is not None:
            raise OperatorTypeError(
                f"`{name}` is the old name of the argument `{new}`: give one of them"
            )
        else:
            text = f"{operator}: `{name}` is the old name of the argument `{new}`"
            result[new] = value
        if not quiet:
            warn_of_old(f"{operator}({name})", text)
    return result


def warn_of_old(what: str, text: str) -> None:
    """A DeprecationWarning about a name at the user's line: once for each line."""
    where = user_location()
    if where is None:
        return
    place = (what, where.code.co_filename, where.line)
    mine = object()
    if _warned.setdefault(place, mine) is mine:  # of several threads the first one
        warnings.warn_explicit(text, DeprecationWarning, *place[1:])
