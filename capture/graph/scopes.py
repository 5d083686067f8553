"""Scopes: on which part of a batch each node of a graph works, and which samples these are in a
run.

A scope is a branch: the samples of the enclosing scope for which a predicate is true, or those for
which it is false. None is the whole batch. Constants belong to every scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gradiva.eager.types.arrays import BoolVector
from gradiva.eager.values.batch import Batch
from gradiva.ops.math.branches import merge, split, truth

from .builtin_ops import constant
from .graph import Edge, Node

__all__ = ["Scope", "ScopeError", "Selection", "is_anchored", "predicates_of", "scopes_of"]


class Scope(NamedTuple):
    """One side of a predicate: 0 if it is true, 1 if it is false."""

    node: Node
    output: int
    side: int
    outer: Scope | None


class ScopeError(AssertionError):
    """A node that reads values of two branches: a defect of gradiva."""


def is_anchored(node: Node) -> bool:
    """Whether an edge, instead of an input, determines the branch of a node."""
    return any(edge.argument == "scope" for edge in node.inputs)


def predicates_of(nodes: Iterable[Node]) -> set[Node]:
    """The nodes that determine the branch of a sample."""
    return {node.inputs[-1].node for node in nodes if node.operator in (split, merge)}


def scopes_of(nodes: Iterable[Node]) -> dict[Node, Scope]:
    """The scope in which each node runs, in execution order; without the whole batch.

    Raises ScopeError if inputs are of different scopes.
    """
    running: dict[Node, Scope] = {}

    def of(edge: Edge) -> Scope | None:
        return side_of(edge.node, edge.output, running.get(edge.node))

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


def side_of(node: Node, output: int, running: Scope | None) -> Scope | None:
    """The scope of an output of a node that runs in the scope `running`."""
    if node.operator is split:
        predicate = node.inputs[1]
        return Scope(predicate.node, predicate.output, output, running)
    return running


class Selection:
    """The samples of each scope in one run, as masks of the samples of the batch as it was read.

    may_lose: whether an operator may lose samples (`on_error="skip"`); valid: those that none has
    lost; None for all.
    """

    __slots__ = ("_masks", "_sides", "may_lose", "size", "valid")

    def __init__(self, size: int, may_lose: bool) -> None:
        self.size = size
        self.may_lose = may_lose
        self.valid: BoolVector | None = None
        self._sides: dict[tuple[Node, int], tuple[BoolVector, BoolVector]] = {}
        self._masks: dict[Scope, BoolVector] = {}

    def see(self, edge: Edge, predicate: Batch, scope: Scope | None) -> None:
        """Note for which samples of its scope a predicate is true, and for which it is false."""
        if edge[:2] not in self._sides:
            inside = predicate.valid if self.may_lose else self.mask(scope)
            if inside is None:
                inside = np.ones(self.size, np.bool_)
            true = np.zeros(self.size, np.bool_)
            true[inside] = truth(predicate)
            self._sides[edge[:2]] = true, inside & ~true

    def mask(self, scope: Scope | None) -> BoolVector | None:
        """The remaining samples of a scope; None for all samples of the batch."""
        if scope is None:
            return self.valid
        if scope not in self._masks:
            own = self._sides[scope.node, scope.output][scope.side]
            self._masks[scope] = own if self.valid is None else own & self.valid
        return self._masks[scope]

    def mark(self, scope: Scope | None) -> BoolVector | None:
        """The `valid` of a batch that holds the remaining samples of a scope. Where no operator may
        lose any, batches always hold all of their scope and need none."""
        return self.mask(scope) if self.may_lose else None

    def count(self, scope: Scope | None) -> int:
        """The number of samples of a scope."""
        mask = self.mask(scope)
        return self.size if mask is None else int(np.count_nonzero(mask))

    def lose(self, scope: Scope | None, left: BoolVector) -> None:
        """The samples of a scope that are not in `left` leave all scopes."""
        before = self.mask(scope)
        if before is not None:
            left = left | ~before if self.valid is None else self.valid & (left | ~before)
        self.valid = left
        self._masks.clear()
