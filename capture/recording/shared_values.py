"""A trap that is named: one random value for a whole batch, where one per sample may be meant.

`gradiva.random.coin_flip()` without `batch_size` draws one value, in dynamic mode as in a pipeline;
`fn.random.coin_flip()` one per sample. A pipeline in which the first meets a batch flips all its
samples or none: so there is a warning, once for each line that draws.
"""

from __future__ import annotations

import warnings

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Node
from gradiva.eager.readers.source import SourceOperator
from gradiva.eager.support.errors import Location

__all__ = ["SharedValues"]

_BESIDE = {"key", "scope", "source"}
"""Edges that bring no values."""

_warned: set[tuple[str, int]] = set()


class SharedValues:
    """The nodes of a graph whose values are one for all samples and random: what draws them, and
    what is computed of them alone, with the line that drew."""

    def __init__(self) -> None:
        self._drawn: dict[Node, tuple[str, Location]] = {}

    def note(self, node: Node, where: Location | None) -> None:
        """A node was recorded, by this line of the user's."""
        if node.attribute("shared"):
            if where is not None:
                self._drawn[node] = node.operator.name, where
            return
        values = [
            edge.node
            for edge in node.inputs
            if edge.argument not in _BESIDE and edge.node.operator is not constant
        ]
        shared = [one for one in values if one in self._drawn]
        if not shared or isinstance(node.operator, SourceOperator):
            return
        if len(shared) == len(values) and not node.operator.random:
            self._drawn[node] = self._drawn[shared[0]]
        elif where is not None:
            for one in shared:
                _warn(*self._drawn[one], node.operator.name, where)


def _warn(draws: str, drawn: Location, meets: str, where: Location) -> None:
    place = drawn.code.co_filename, drawn.line
    if place in _warned:
        return
    _warned.add(place)
    text = (
        f"gradiva.{draws} draws one value for the whole batch where it has no batch_size, {drawn}; "
        f"`{meets}` uses it for each sample; fn.{draws} draws one for each, as does "
        "batch_size=images.batch_size"
    )
    warnings.warn_explicit(text, UserWarning, where.code.co_filename, where.line)
