"""The rows of docs/differences.md, by the operators and arguments that they are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradiva.compat.conditions import UNKNOWN, Condition, Symbol, any_holds, conditions_in, is_off

__all__ = ["FILE", "Row", "rows", "rows_about"]

_INSTALLED = Path(__file__).with_name("differences.md")
"""A copy of docs/differences.md, which the build puts there; a checkout has none."""
FILE = _INSTALLED if _INSTALLED.exists() else Path(__file__).parents[2] / "docs/differences.md"
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"([A-Za-z_][\w.]*\*?)(?:$|\(|=)")
_VALUED = re.compile(r"(?:^|[(\s])(\w+)=(?!=)")
_COMMON = ("device", "dtype", "layout", "name", "seed")
"""Arguments of so many operators that a row about them is about none."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tables. names: what its first column has as code: operators, classes, arguments
    (`mask=0` is `mask`); `clahe(tiles_x=...)` is both. arguments: those of them that have a value
    there, so that nothing else can be meant. conditions: what it says of the values of arguments.
    """

    line: int
    what: str
    there: str
    here: str
    why: str
    names: tuple[str, ...]
    arguments: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()

    @property
    def place(self) -> str:
        return f"docs/differences.md:{self.line}"

    @property
    def rare(self) -> bool:
        """Whether few scripts meet it: it is about input that DALI does not take or gradiva
        refuses, about more types than DALI has, or about values such as NaN."""
        return bool(
            _REFUSED_HERE.match(self.here)
            or _MORE_HERE.match(self.here)
            or _REFUSED_THERE.match(self.there)
            or _ODD.search(self.what)
        )


_REFUSED_HERE = re.compile(r"refused|an error\b|Operator\w+Error\b|BufferError\b|does not compile")
_MORE_HERE = re.compile(
    r"(also|any|every|all of these|all$|taken|accepted|copied|decoded|passed)\b|.* too$"
)
_REFUSED_THERE = re.compile(
    r"refused|not (there|found|understood|possible)|no (such|sample)|kills|fails|may fail|garbage"
    r"|reads|\w+Error\b|on (a|the) GPU (only|alone)|now and then|never ends|goes on for ever"
    r"|does not end|no \w+[,;]"
)
_ODD = re.compile(
    r"\bNaN\b|infinit|not finite|without (pixels|elements)|no extent|one pixel|int32\b.*beyond"
    r"|beyond int32|whose squares"
)


@cache
def rows() -> tuple[Row, ...]:
    """All rows, in their order."""
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    for number, line in enumerate(FILE.read_text("utf-8").splitlines(), 1):
        if not line.startswith("| "):
            continue
        cells = [cell.strip() for cell in line.strip().removesuffix("|")[1:].split(" | ")]
        what, *others = cells
        there, here, why = (*others, "", "")[:3] if len(others) > 1 else ("", *others, "")
        valued = frozenset(_VALUED.findall(" ".join(_CODE.findall(what))))
        names, conditions = tuple(_names(what)), tuple(conditions_in(what))
        yield Row(number, what, there, here, why, names, valued, conditions)


def _names(what: str) -> Iterator[str]:
    for code in _CODE.findall(what):
        matched = _NAME.match(code)
        if matched:
            yield matched[1]
            yield from re.findall(r"[(\s](\w+)=", code)


def rows_about(
    name: str,
    known: Collection[str],
    given: Mapping[str, Any] | Collection[str],
    dynamic: bool = False,
) -> list[Row]:
    """The rows about `resize` or `random.coin_flip` (without `fn.`), called with these arguments.

    known: the arguments that it has. given: those of the call, with their values where these are
    known (see `conditions`). dynamic: whether the call is one of dynamic mode. A row that names
    some arguments needs one of those to be given, with such a value.
    """
    values = given if isinstance(given, Mapping) else dict.fromkeys(given, UNKNOWN)
    return [row for row in rows() if _about(row, name, known, values, dynamic)]


def _about(
    row: Row, name: str, known: Collection[str], given: Mapping[str, Any], dynamic: bool
) -> bool:
    if "in dynamic mode" in row.what and not dynamic:
        return False
    absent = {one.argument for one in row.conditions if one.absent}
    if any(not is_off(given.get(argument)) for argument in absent):
        return False
    arguments = {one for one in row.names if one in known and one not in _COMMON}
    arguments = (arguments | row.arguments) - {*_COMMON} - absent
    meant = [one for one in row.conditions if one.argument in arguments]
    asked = not arguments or any_holds(meant, given)
    if any(_same(one, name) for one in row.names):
        return asked
    if any(isinstance(value, Symbol) and value.name in row.names for value in given.values()):
        return all(one.isupper() for one in row.names)  # a member of an enumeration: `PARTIAL`
    # Of arguments that no operator is named with: `random_shuffle`.
    others = {one for one in row.names if one not in absent}
    if absent and not others:
        return absent <= {*known}
    return arguments == others and bool(arguments) and asked


def _same(pattern: str, name: str) -> bool:
    if pattern.endswith(".*"):
        return name.startswith(pattern[:-1])
    return pattern in (name, name.rpartition(".")[2])
