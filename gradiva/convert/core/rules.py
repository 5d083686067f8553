"""`Rules`: which steps of a package can be converted, and how. The tables of support are made of
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .writer import NoCounterpartError, Writer

__all__ = ["Rule", "Rules"]

W = TypeVar("W", bound=Writer)


@dataclass(frozen=True)
class Rule(Generic[W]):
    """How transforms of some names are converted.

    names: in the other package. calls: the calls of gradiva, for the table of support.
    exactness: how far results are equal, for the table: "exact" where they are in all cases.
    write: writes the steps. Raises NoCounterpartError for parameters without counterpart.
    """

    names: tuple[str, ...]
    calls: str
    exactness: str
    write: Callable[[W, Any], None]


class Rules(Generic[W]):
    """The rules of a package, by the names of its transforms."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._rules: list[Rule[W]] = []
        self._named: dict[str, Rule[W]] = {}

    def rule(
        self, *names: str, calls: str, exactness: str = "exact"
    ) -> Callable[[Callable[[W, Any], None]], Callable[[W, Any], None]]:
        """A decorator for the function that writes the steps of these transforms."""

        def declare(write: Callable[[W, Any], None]) -> Callable[[W, Any], None]:
            rule = Rule(names, calls, exactness, write)
            self._rules.append(rule)
            self._named.update(dict.fromkeys(names, rule))
            return write

        return declare

    def __iter__(self) -> Iterator[Rule[W]]:
        return iter(self._rules)

    def get(self, name: str) -> Rule[W] | None:
        """The rule for transforms of this name."""
        return self._named.get(name)

    def supported(self) -> str:
        """All names, for errors."""
        return f"one of {', '.join(sorted(self._named))}"

    def write(self, writer: W, name: str, transform: Any) -> None:
        """Write the steps of one transform, all of them or none. Raises NoCounterpartError."""
        rule = self._named.get(name)
        if rule is None:
            raise NoCounterpartError(f"gradiva has nothing for {name}")
        before = dict(vars(writer))
        before["steps"] = list(writer.steps)
        try:
            rule.write(writer, transform)
        except NoCounterpartError:
            vars(writer).update(before)
            raise

    @property
    def head(self) -> str:
        """The first lines of the table of support."""
        return f"| {self.package} | gradiva | exactness |\n|---|---|---|\n"

    def table(self) -> str:
        """The table of support, in Markdown."""
        lines = [self.head]
        for rule in self._rules:
            names = ", ".join(f"`{name}`" for name in rule.names)
            lines.append(f"| {names} | {rule.calls} | {rule.exactness} |\n")
        return "".join(lines)
