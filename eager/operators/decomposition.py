"""Decompositions: declarations of operators that are equal to a chain of simpler operators.

The compiler replaces such a call by its parts if these can join a fused group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias


class DecompositionPart(NamedTuple):
    """One operator of the chain. It reads the output of the part before it.

    operator: its name. passed: its arguments that come from the composite operator, with the names
    that they have there; arguments that were not given keep their defaults. fixed: the values of
    others.
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

    def part(self, operator: str, *names: str, **renamed: str) -> DecompositionPart:
        """A part that takes these arguments; renamed: arguments with another name in the part."""
        passed = {**{name: name for name in names}, **renamed}
        return DecompositionPart(
            operator, {own: name for own, name in passed.items() if name in self.given}, {}
        )

    def fixed_part(self, operator: str, **values: Any) -> DecompositionPart:
        """A part with its own values of arguments."""
        return DecompositionPart(operator, {}, values)


class Branches(NamedTuple):
    """The parts of an operator with several outputs: a chain, and for each output the part that
    reads the end of the chain."""

    chain: list[DecompositionPart]
    outputs: list[DecompositionPart]


Decomposition: TypeAlias = "Callable[[CompositeCall], list[DecompositionPart] | Branches | None]"
"""The parts of a call, in order; None for a call that cannot be decomposed."""
