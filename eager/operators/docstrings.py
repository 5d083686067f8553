"""Docstrings with sections, `Args:`, `Returns:`, `Raises:` and `Example:`: split and merged.

The lines of a section are indented by four spaces, and the further lines of an entry of `Args:` and
`Raises:` by eight. Another indentation is an error: help would show the line in a wrong place.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable

from gradiva.eager.support.errors import OperatorValueError

COMMON = "Arguments of all operators"
"""The heading of the section that `with_common` adds."""
_HEADINGS = ("Args", "Returns", "Raises", "Example", COMMON)
_HEADING = re.compile(rf"^({'|'.join(_HEADINGS)}):$", re.MULTILINE)
_ENTRIES = ("Args", "Raises", COMMON)
_ENTRY = re.compile(r"^ {4}(?=\S)", re.MULTILINE)
_HEAD = re.compile(r" {4}[\w*.]+((,\s+| or | and |, and )[\w*.]+)*:(\s|$)")
_BELOW = "\n" + " " * 8


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring, with their indentation; "" is what stands before them.

    Raises OperatorValueError for a line whose indentation is not that of its section.
    """
    opening, *parts = _HEADING.split(inspect.cleandoc(text))
    contents = [part.strip("\n") for part in parts[1::2]]
    found = dict(zip(parts[::2], contents, strict=True))
    for heading, content in found.items():
        _check_indentation(heading, content)
    return {"": opening.strip(), **found}


def _check_indentation(heading: str, content: str) -> None:
    """Refuse a line outside of the section, and one that neither begins nor continues an entry."""
    for line in content.splitlines():
        if line and not line.startswith("    "):
            _refuse(heading, line, "each line of a section is indented by four spaces or more")
    if heading not in _ENTRIES:
        return
    before, *entries = _ENTRY.split(content)
    if before:
        _refuse(heading, before.split("\n")[0], "an entry is indented by four spaces")
    for entry in entries:
        first, *others = entry.rstrip().split("\n")
        for line in others:
            if line and not line.startswith(" " * 8):
                _refuse(heading, line, "the further lines of an entry are indented by eight")
        if not _HEAD.match("    " + entry):
            _refuse(heading, first, "an entry begins with names and a colon")


def _refuse(heading: str, line: str, rule: str) -> None:
    raise OperatorValueError(
        f"a docstring's section `{heading}:` has a line with another indentation",
        expected=rule,
        got=repr(line.strip()),
    )


def merge_docstrings(own: str, groups: Iterable[str], order: Iterable[str]) -> str:
    """The docstring of an operator with those of its argument groups.

    Paragraphs come first, then sections. What both say of an argument stands in one entry, the
    operator's own after that of the group.

    Args:
        own: the docstring of the operator.
        groups: those of the groups.
        order: the arguments, as the signature has them.
    """
    first, *others = [sections(text) for text in (own, *groups)]
    texts = [first, *others]
    arguments = _told((*others, first), "Args")
    places = {name: place for place, name in enumerate(order)}
    together: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(arguments, key=lambda one: places.get(one, len(places))):
        together.setdefault(tuple(arguments[name]), []).append(name)
    merged = {
        "Args": [_entry(", ".join(names), said) for said, names in together.items()],
        "Returns": [one["Returns"] for one in texts if "Returns" in one],
        "Raises": [
            f"    {error}: " + f";{_BELOW}".join(one.rstrip(".") for one in said) + "."
            for error, said in _told(texts, "Raises").items()
        ],
        "Example": [one["Example"] for one in texts if "Example" in one],
    }
    blocks = [one[""] for one in texts if one[""]]
    blocks += ["\n".join([f"{title}:", *lines]) for title, lines in merged.items() if lines]
    return "\n\n".join(blocks)


def with_common(own: str | None, lines: Iterable[str]) -> str | None:
    """An operator's docstring with what is said of the arguments that all operators take."""
    added = [f"{COMMON}:", *lines]
    return "\n".join([inspect.cleandoc(own), "", *added]) if own and added[1:] else own


def _told(texts: Iterable[dict[str, str]], section: str) -> dict[str, list[str]]:
    """The contents of each section, from several docstrings."""
    found: dict[str, list[str]] = {}
    for text in texts:
        for entry in _ENTRY.split(text.get(section, ""))[1:]:
            names, _, said = entry.strip().partition(":")
            for name in re.split(r",\s*", names):
                found.setdefault(name, []).append(said.strip())
    return found


def _entry(names: str, said: tuple[str, ...]) -> str:
    """An entry of an argument, from several texts."""
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
