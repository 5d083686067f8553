"""Numbered series of files: `epoch_{seq:04d}.checkpoint`."""

from __future__ import annotations

import glob
import re
import string

from gradiva.eager.support.errors import OperatorValueError, wrong_value


def is_pattern(name: str) -> bool:
    """Whether a name has a place for a number. Raises OperatorValueError for other places."""
    try:
        places = [place[1:] for place in string.Formatter().parse(name) if place[1] is not None]
    except ValueError as error:
        raise OperatorValueError(str(error), argument="filename") from None
    for field, spec, conversion in places:
        if field != "seq" or conversion or not re.fullmatch(r"(0?[1-9]\d?)?d?", spec or ""):
            raise wrong_value(
                "filename", "a name with {seq}, {seq:04d} or no place between braces", repr(name)
            )
    return bool(places)


def series_of(pattern: str) -> dict[int, str]:
    """The files of a numbered series, by number."""
    expression, wildcard = "", ""
    for text, field, *_ in string.Formatter().parse(pattern):
        expression += re.escape(text) + (r"(\d+)" if field is not None else "")
        wildcard += glob.escape(text) + ("*" if field is not None else "")
    found: dict[int, str] = {}
    for path in glob.glob(wildcard):
        match = re.fullmatch(expression, path, re.DOTALL)
        if match is not None and path == pattern.format(seq=int(match[1])):
            found[int(match[1])] = path
    return found
