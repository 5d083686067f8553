"""Docstrings with sections, `Args:`, `Returns:`, `Raises:` and `Example:`, put together."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable

__all__ = ["merge_docstrings"]

_HEADINGS = ("Args", "Returns", "Raises", "Example")
_HEADING = re.compile(rf"^({'|'.join(_HEADINGS)}):$", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(?=\S)", re.MULTILINE)
_BELOW = "\n" + " " * 8


def merge_docstrings(own: str, groups: Iterable[str], order: Iterable[str]) -> str:
    """The docstring of an operator with those of its argument groups.

    Paragraphs come first, then sections. What both say of an argument stands in one entry, the
    operator's own after that of the group.

    Args:
        own: the docstring of the operator.
        groups: those of the groups.
        order: the arguments, as the signature has them.
    """
    first, *others = [_split(text) for text in (own, *groups)]
    texts = [first, *others]
    arguments = _told((*others, first), "Args")
    places = {name: place for place, name in enumerate(order)}
    together: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(arguments, key=lambda one: places.get(one, len(places))):
        together.setdefault(tuple(arguments[name]), []).append(name)
    sections = {
        "Args": [_entry(", ".join(names), said) for said, names in together.items()],
        "Returns": [one["Returns"] for one in texts if "Returns" in one],
        "Raises": [
            f"    {error}: " + f";{_BELOW}".join(one.rstrip(".") for one in said) + "."
            for error, said in _told(texts, "Raises").items()
        ],
        "Example": [one["Example"] for one in texts if "Example" in one],
    }
    blocks = [one[""] for one in texts if one[""]]
    blocks += ["\n".join([f"{title}:", *lines]) for title, lines in sections.items() if lines]
    return "\n\n".join(blocks)


def _split(text: str) -> dict[str, str]:
    """The sections of a docstring, with their indentation; "" is what stands before them."""
    opening, *parts = _HEADING.split(inspect.cleandoc(text))
    contents = [part.strip("\n") for part in parts[1::2]]
    return {"": opening.strip(), **dict(zip(parts[::2], contents, strict=True))}


def _told(texts: Iterable[dict[str, str]], section: str) -> dict[str, list[str]]:
    """What texts say in a section of each name."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for entry in _ENTRY.split(text.get(section, ""))[1:]:
            names, _, said = entry.strip().partition(":")
            for name in re.split(r",\s*", names):
                found.setdefault(name, []).append(said.strip())
    return found


def _entry(names: str, said: tuple[str, ...]) -> str:
    """An entry of arguments: texts one below the other."""
    line, *lines = said[0].split("\n")
    head = textwrap.fill(
        f"{names}: {line}",
        96,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    more = [one[:1].upper() + one[1:] for one in said[1:]]
    return _BELOW.join(["\n".join([head, *lines]), *more])
