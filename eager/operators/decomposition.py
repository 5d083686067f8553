"""Decompositions: operators that are a chain of simpler ones, declared where they are.

The compiler takes such a call apart where its parts can join a fused group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = ["CompositeCall", "Decomposition", "Part"]


class Part(NamedTuple):
    """One operator of the chain. It reads what the part before it makes.

    operator: its name. passed: its arguments that are arguments of the composite, by its own names
    of them; those that were not given keep their defaults. fixed: the values of others.
    """

    operator: str
    passed: Mapping[str, str]
    fixed: Mapping[str, Any]


class CompositeCall(NamedTuple):
    """What is known of a call of a composite operator while a graph is compiled.

    layout: of its input, None if it is not known. fixed: the arguments with one value for all
    samples; given: the names of all that were given, also of those with a value per sample.
    """

    layout: str | None
    fixed: Mapping[str, Any]
    given: Collection[str]

    def part(self, operator: str, *names: str, **renamed: str) -> Part:
        """A part that takes these arguments; renamed: those that have another name in the part."""
        passed = {**{name: name for name in names}, **renamed}
        return Part(operator, {own: name for own, name in passed.items() if name in self.given}, {})

    def fixed_part(self, operator: str, **values: Any) -> Part:
        """A part with arguments of its own."""
        return Part(operator, {}, values)


Decomposition: TypeAlias = "Callable[[CompositeCall], list[Part] | None]"
"""The parts of a call, in order; None for a call that is more than its parts."""
