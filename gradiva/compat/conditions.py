"""What a row of docs/differences.md says of the values of arguments, and the values in a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

__all__ = ["UNKNOWN", "Condition", "Symbol", "any_holds", "conditions_in", "is_off", "value_of"]


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""A value that only a run of the script would tell."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value that a script writes as a name, by its last part: `INTERP_NN`, `PARTIAL`."""

    name: str


@dataclass(frozen=True, slots=True)
class Condition:
    """An argument that a row names. words: what the row says of its value, as a test; None for any
    value. absent: whether the row is about calls without the argument. code: in which piece of code
    it stands: those in one hold together, those in others by themselves."""

    argument: str
    words: Callable[[Any], bool] | None = None
    absent: bool = False
    code: int = 0


def value_of(node: ast.expr) -> Any:
    """A literal; a Symbol for `types.FLOAT`; a list of such values; else UNKNOWN."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if isinstance(node, ast.List | ast.Tuple):
            return [value_of(one) for one in node.elts]
        return Symbol(node.attr) if isinstance(node, ast.Attribute) else UNKNOWN


def is_off(value: Any) -> bool:
    """Whether an argument with this value is as one that is not given."""
    return value is None or value is False


def any_holds(conditions: Iterable[Condition], given: Mapping[str, Any]) -> bool:
    """Whether a call may be as a row says, in one of its pieces of code."""
    return any(
        all(_holds(one, given) for one in together)
        for _, together in groupby(conditions, lambda one: one.code)
    )


def _holds(condition: Condition, given: Mapping[str, Any]) -> bool:
    """Whether an argument of a call is given, and may be as the row says."""
    if condition.argument not in given:
        return False
    value = given[condition.argument]
    if value is UNKNOWN:
        return True
    return not is_off(value) if condition.words is None else condition.words(value)


_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"(?:,| or| and|, or)? *")
_GIVEN = re.compile(r"(?:^|[(,]\s*)(\w+)=(?!=)([^,()\[\]]+|\[[^\]]*\])")
_BARE = re.compile(r"[a-z]\w*")
_NUMBER = r"(-?\d+(?:\.\d+)?)"


def conditions_in(text: str) -> Iterator[Condition]:
    """The arguments that the first column of a row names as code. Several in a list share the words
    that stand after the last of them, up to the next semicolon."""
    codes = list(_CODE.finditer(text))
    for place, code in enumerate(codes):
        last = place
        while last + 1 < len(codes) and _LINK.fullmatch(
            text[codes[last].end() : codes[last + 1].start()]
        ):
            last += 1
        after = _CODE.split(text[codes[last].end() :], maxsplit=1)[0].partition(";")[0]
        before = text[: code.start()]
        absent = bool(re.search(r"without(?: a layout and without)? $", before))
        if _BARE.fullmatch(code[1]):
            zero = before.endswith("0 as ")
            yield Condition(code[1], _equal("0") if zero else _words(after), absent, place)
        for argument, value in _GIVEN.findall(code[1]):
            words = _words(after) if value == "..." else _equal(value)
            yield Condition(argument, words, absent, place)


def _words(text: str) -> Callable[[Any], bool] | None:
    """A test for the words that follow an argument, where they speak of its value."""
    for pattern, make in _TESTS:
        found = re.search(pattern, text)
        if found is not None:
            return make(*found.groups())
    return None


def _number(test: Callable[[float], bool]) -> Callable[[Any], bool]:
    """Whether a number, or one of several, is so; of what is no number nothing is known."""

    def tested(value: Any) -> bool:
        numbers = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(one, int | float) for one in numbers):
            return True
        return any(map(test, numbers))

    return tested


def _equal(text: str) -> Callable[[Any], bool]:
    wanted = value_of(ast.parse(text, mode="eval").body)
    if wanted is UNKNOWN:  # a name: that of a member of an enumeration
        return lambda value: not isinstance(value, Symbol) or value.name == text
    size = len(wanted) if isinstance(wanted, list) else -1
    return lambda value: (
        value == wanted
        or isinstance(value, Symbol)
        or (isinstance(value, list) and UNKNOWN in value and len(value) == size)
    )


_TESTS: tuple[tuple[str, Callable[..., Callable[[Any], bool]]], ...] = (
    (
        rf"^ ?outside {_NUMBER}\.\.{_NUMBER}",
        lambda low, high: _number(lambda one: not float(low) <= one <= float(high)),
    ),
    (
        rf"between {_NUMBER} and {_NUMBER}",
        lambda low, high: _number(lambda one: float(low) < one < float(high)),
    ),
    (rf"^ below {_NUMBER}", lambda low: _number(lambda one: not one >= float(low))),
    (rf"^ of {_NUMBER} or less", lambda high: _number(lambda one: one <= float(high))),
    (rf"^ of {_NUMBER}(?! axes)", lambda wanted: _number(lambda one: one == float(wanted))),
    (r"^ of one number", lambda: lambda value: not isinstance(value, list | tuple)),
    (
        r"^ other than (\w+)",
        lambda name: lambda value: not isinstance(value, Symbol) or value.name != name,
    ),
    (
        r'^ "(\w+)"(?: or "(\w+)")?',
        lambda one, other: lambda value: not isinstance(value, str) or value in (one, other),
    ),
)
