"""The rows of docs/differences.md, by the operators and arguments that they are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Row", "rows", "rows_about"]

_INSTALLED = Path(__file__).with_name("differences.md")
"""A copy of docs/differences.md, which the build puts there; a checkout has none."""
_FILE = _INSTALLED if _INSTALLED.exists() else Path(__file__).parents[2] / "docs/differences.md"
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"([A-Za-z_][\w.]*\*?)(?:$|\(|=)")
_VALUED = re.compile(r"(?:^|[(\s])(\w+)=(?!=)")
_COMMON = ("device", "dtype", "layout", "name", "seed")
"""Arguments of so many operators that a row about them is about none."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tables. names: what its first column has as code: operators, classes, arguments
    (`mask=0` is `mask`); `clahe(tiles_x=...)` is both. arguments: those of them that have a value
    there, so that nothing else can be meant."""

    line: int
    what: str
    there: str
    here: str
    why: str
    names: tuple[str, ...]
    arguments: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return f"docs/differences.md:{self.line}"


@cache
def rows() -> tuple[Row, ...]:
    """All rows, in their order."""
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    names: tuple[str, ...] = ()
    for number, line in enumerate(_FILE.read_text("utf-8").splitlines(), 1):
        if not line.startswith("| "):
            continue
        cells = [cell.strip() for cell in line.strip().removesuffix("|")[1:].split(" | ")]
        what, *others = cells
        there, here, why = (*others, "", "")[:3] if len(others) > 1 else ("", *others, "")
        own = tuple(_names(what))
        names = (*names, *own) if what.startswith("the same") else own  # as the row before it
        valued = frozenset(_VALUED.findall(" ".join(_CODE.findall(what))))
        yield Row(number, what, there, here, why, names, valued)


def _names(what: str) -> Iterator[str]:
    for code in _CODE.findall(what):
        matched = _NAME.match(code)
        if matched:
            yield matched[1]
            yield from re.findall(r"[(\s](\w+)=", code)


def rows_about(name: str, known: Collection[str], given: Collection[str]) -> list[Row]:
    """The rows about `resize` or `random.coin_flip` (without `fn.`), called with these arguments.

    known: the arguments that it has. A row that names some of them needs one of those to be given.
    """
    return [row for row in rows() if _about(row, name, known, given)]


def _about(row: Row, name: str, known: Collection[str], given: Collection[str]) -> bool:
    arguments = {one for one in row.names if one in known and one not in _COMMON}
    arguments |= row.arguments - {*_COMMON}
    if any(_same(one, name) for one in row.names):
        return not arguments or not arguments.isdisjoint(given)
    # Of arguments that no operator is named with: `random_shuffle`.
    return arguments == set(row.names) and bool(arguments) and not arguments.isdisjoint(given)


def _same(pattern: str, name: str) -> bool:
    if pattern.endswith(".*"):
        return name.startswith(pattern[:-1])
    return pattern in (name, name.rpartition(".")[2])
