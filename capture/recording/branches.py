"""Branches while a graph is recorded: which one is current, and which values belong to which.

A value from outside that is used in a branch is split there. A node without inputs in a branch gets
an edge `scope`, so that it knows its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, GraphBuilder, Node
from gradiva.eager.support.errors import Location, OperatorTypeError
from gradiva.ops.math.branches import split
from gradiva.ops.readers.core.source import SourceOperator


class Branch:
    """The samples for which a predicate is true (side 0), or is not (side 1)."""

    __slots__ = ("location", "outer", "predicate", "side")

    def __init__(
        self, outer: Branch | None, predicate: Edge, side: int, location: Location | None
    ) -> None:
        self.outer = outer
        self.predicate = predicate
        self.side = side
        self.location = location


class Branches:
    """The branches of one graph that is being recorded; `current` is the one that
    operators are recorded in now."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.current: Branch | None = None
        self._builder = builder
        self._of: dict[tuple[Node, int], Branch] = {}
        self._sides: dict[tuple[Node, int], tuple[Branch, Branch]] = {}

    def sides(self, predicate: Edge, location: Location | None) -> tuple[Branch, Branch]:
        """The branches of a predicate that belongs to the current branch."""
        key = (predicate.node, predicate.output)
        if key not in self._sides:
            one, other = (Branch(self.current, predicate, side, location) for side in (0, 1))
            self._sides[key] = (one, other)
        return self._sides[key]

    @contextmanager
    def inside(self, branch: Branch | None) -> Iterator[None]:
        """Make a branch the current one; None: the whole batch."""
        outer = self.current
        self.current = branch
        try:
            yield
        finally:
            self.current = outer

    def bring(self, edge: Edge) -> Edge:
        """What a value is in the current branch. Raises OperatorTypeError for values of a branch
        that one is not in."""
        if edge.node.operator is constant:
            return edge
        own = self._of.get((edge.node, edge.output))
        if own is self.current:
            return edge
        path: list[Branch] = []
        branch = self.current
        while branch is not None and branch is not own:
            path.append(branch)
            branch = branch.outer
        if branch is not own:
            assert own is not None
            where = f" at {own.location}" if own.location else ""
            raise OperatorTypeError(
                f"an output of `{edge.node.operator.name}` belongs to one branch of the condition"
                f"{where}, where the other samples have no value; assign it to a variable that "
                "has a value in both branches, and use that"
            )
        for inner in reversed(path):
            edge = self._split(edge, inner)._replace(argument=edge.argument)
        return edge

    def _split(self, edge: Edge, branch: Branch) -> Edge:
        predicate = branch.predicate._replace(argument=None)
        inputs = (edge._replace(argument=None), predicate)
        type = edge.node.type[edge.output]
        node = self._builder.add(split, inputs, {}, (type, type), branch.location)
        self._builder.describe(node, (), "if")
        for side, own in enumerate(self.sides(branch.predicate, branch.location)):
            self._of[node, side] = own
        return Edge(node, branch.side)

    def anchor(self, edges: Sequence[Edge] = ()) -> tuple[Edge, ...]:
        """The edge that ties a node with these inputs to the current branch, if none of them
        does."""
        branch = self.current
        if branch is None or any(edge.node.operator is not constant for edge in edges):
            return ()
        return (self._split(branch.predicate, branch)._replace(argument="scope"),)

    def own(self, node: Node) -> None:
        """A node was recorded: it belongs to the current branch, unless it is a source, which is
        read for the whole batch."""
        if self.current is not None and not isinstance(node.operator, SourceOperator):
            for output in range(len(node.type)):
                self._of[node, output] = self.current
