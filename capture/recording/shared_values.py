"""Random values of a graph that are one for a whole batch, and where they meet one.

`gradiva.random.coin_flip()` without `batch_size` draws one value, in dynamic mode as in a pipeline;
`fn.random.coin_flip()` one per sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, Node
from gradiva.eager.execution.shared_draws import warn_of_shared
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.support.errors import Location, OperatorValueError, describe
from gradiva.ops.readers.core.source import SourceOperator

from .data_node import BatchSize, WholeBatch

_BESIDE = {"key", "scope", "source"}
"""Edges that bring no values."""


def is_shared(
    inputs: Sequence[Any],
    edges: Sequence[Edge],
    attributes: Mapping[str, Any],
    common: Mapping[str, Any],
) -> bool:
    """Whether a random call makes one value for all samples, as it would in dynamic mode without a
    batch size. Raises OperatorValueError for a batch size that is a number."""
    asked = common.get("batch_size")
    if asked is None:
        per_sample = any(
            isinstance(one, Schedule) and one.per_sample for one in attributes.values()
        )
        return not inputs and len(edges) == 1 and not per_sample
    if not isinstance(asked, BatchSize | WholeBatch):
        raise OperatorValueError(
            "the batch size of a graph is that of its sources",
            argument="batch_size",
            expected="the batch_size of another batch (such as images.batch_size)",
            got=describe(asked),
        )
    return False


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
                warn_of_shared(*self._drawn[one], node.operator.name, where)
