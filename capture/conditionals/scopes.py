"""Which part of a batch each node of a graph works on, and which samples those are in a run.

A scope is a branch: the samples of the scope around it for which a predicate is true, or those for
which it is not. None is the whole batch. Constants belong to every scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.batch import Batch
from gradiva.ops.generic.conditional_merge import merge
from gradiva.ops.generic.conditional_split import Mask, split, truth

from ..graph import Edge, Node
from ..leaves import constant

__all__ = ["Scope", "ScopeError", "Selection", "is_anchored", "predicates_of", "scopes_of"]

Rows = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class Scope(NamedTuple):
    """One side of a predicate: 0 where it is true, 1 where it is not."""

    node: Node
    output: int
    side: int
    outer: Scope | None


class ScopeError(AssertionError):
    """A node that reads values of two branches: a defect of gradiva."""


def is_anchored(node: Node) -> bool:
    """Whether an edge, and no input, says which branch a node stands in."""
    return any(edge.argument == "scope" for edge in node.inputs)


def predicates_of(nodes: Iterable[Node]) -> set[Node]:
    """The nodes that decide which branch a sample takes."""
    return {node.inputs[-1].node for node in nodes if node.operator in (split, merge)}


def scopes_of(nodes: Iterable[Node]) -> dict[Node, Scope]:
    """The scope in which each node runs, in the order in which they run; without the whole batch.

    Raises ScopeError where inputs are of different scopes.
    """
    running: dict[Node, Scope] = {}

    def of(edge: Edge) -> Scope | None:
        scope = running.get(edge.node)
        if edge.node.operator is split:
            predicate = edge.node.inputs[1]
            return Scope(predicate.node, predicate.output, edge.output, scope)
        return scope

    for node in nodes:
        edges = [
            edge
            for edge in node.inputs
            if edge.node.operator is not constant and edge.argument != "source"
        ]
        if node.operator is merge:
            predicate = node.inputs[2]
            scope = of(predicate)
            for side, edge in enumerate(node.inputs[:2]):
                wanted = Scope(predicate.node, predicate.output, side, scope)
                if edge.node.operator is not constant and of(edge) != wanted:
                    raise ScopeError(f"{node.operator.name} reads a value of another branch")
        else:
            found = {of(edge) for edge in edges}
            if len(found) > 1:
                raise ScopeError(f"{node.operator.name} reads values of several branches")
            scope = found.pop() if found else None
        if scope is not None:
            running[node] = scope
    return running


class Selection:
    """The samples of each scope in one run."""

    __slots__ = ("_chosen", "_masks", "_rows", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._masks: dict[tuple[Node, int], Mask] = {}
        self._chosen: dict[Scope, Rows] = {}
        self._rows: dict[Scope, Rows] = {}

    def mask(self, predicate: Edge, values: Any) -> Mask:
        """Whether the predicate is true, for each sample of its scope."""
        key = (predicate.node, predicate.output)
        if key not in self._masks:
            batch: Batch = values[key]
            self._masks[key] = truth(batch)
        return self._masks[key]

    def chosen(self, scope: Scope) -> Rows:
        """The samples of a scope, as numbers of samples of the scope around it."""
        if scope not in self._chosen:
            mask = self._masks[scope.node, scope.output]
            self._chosen[scope] = np.flatnonzero(mask if scope.side == 0 else ~mask)
        return self._chosen[scope]

    def rows(self, scope: Scope) -> Rows:
        """The samples of a scope, as numbers of samples of the whole batch."""
        if scope not in self._rows:
            own = self.chosen(scope)
            self._rows[scope] = own if scope.outer is None else self.rows(scope.outer)[own]
        return self._rows[scope]

    def count(self, scope: Scope | None) -> int:
        """How many samples a scope has."""
        return self._size if scope is None else len(self.chosen(scope))
