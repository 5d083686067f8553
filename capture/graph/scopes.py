"""Scopes: on which part of a batch each node of a graph works, and which samples these are in a
run.

A scope is a branch: the samples of the enclosing scope for which a predicate is true, or those for
which it is false. None is the whole batch. Constants belong to every scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.values.batch import Batch
from gradiva.ops.conditional.branches import Mask, merge, split, truth

from .builtin_ops import constant
from .graph import Edge, Node

__all__ = ["Scope", "ScopeError", "Selection", "is_anchored", "predicates_of", "scopes_of"]

SampleIndices = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


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
    """The samples of each scope in one run, and those that have left it.

    dropped: takes those that the operator which runs now has left out (`on_error="skip"`), as
    numbers of samples of its scope.
    """

    __slots__ = ("_chosen", "_masks", "_rows", "_scopes", "_size", "_valid", "dropped")

    def __init__(self, size: int, scopes: Mapping[Node, Scope]) -> None:
        self._size = size
        self._scopes = scopes
        self._valid: SampleIndices | None = None
        self.dropped: list[int] = []
        self._masks: dict[tuple[Node, int], Mask] = {}
        self._chosen: dict[Scope, SampleIndices] = {}
        self._rows: dict[Scope, SampleIndices] = {}

    @property
    def valid(self) -> SampleIndices | None:
        """The remaining samples, as numbers in the batch as it was read; None for all."""
        return self._valid

    def mask(self, predicate: Edge, values: Any) -> Mask:
        """The value of the predicate for each sample of its scope."""
        key = (predicate.node, predicate.output)
        if key not in self._masks:
            batch: Batch = values[key]
            self._masks[key] = truth(batch)
        return self._masks[key]

    def chosen(self, scope: Scope) -> SampleIndices:
        """The samples of a scope, as numbers in the enclosing scope."""
        if scope not in self._chosen:
            mask = self._masks[scope.node, scope.output]
            self._chosen[scope] = np.flatnonzero(mask if scope.side == 0 else ~mask)
        return self._chosen[scope]

    def rows(self, scope: Scope | None) -> SampleIndices:
        """The samples of a scope, as numbers in the remaining batch."""
        if scope is None:
            return np.arange(self._size)
        if scope not in self._rows:
            own = self.chosen(scope)
            self._rows[scope] = own if scope.outer is None else self.rows(scope.outer)[own]
        return self._rows[scope]

    def count(self, scope: Scope | None) -> int:
        """The number of samples in a scope."""
        return self._size if scope is None else len(self.chosen(scope))

    def number(self, scope: Scope | None, sample: int) -> int:
        """A sample of a scope, as a number in the batch as it was read."""
        row = sample if scope is None else int(self.rows(scope)[sample])
        return row if self._valid is None else int(self._valid[row])

    def of(self, positions: SampleIndices, scope: Scope | None) -> SampleIndices:
        """The positions of the samples of a scope, from those of the batch as it was read."""
        valid = positions if self._valid is None else positions[self._valid]
        return valid if scope is None else valid[self.rows(scope)]

    def drop(self, scope: Scope | None, values: dict[tuple[Node, int], Batch]) -> None:
        """The samples that the operator in `scope` has lost leave all values, in all scopes."""
        gone = self.rows(scope)[self.dropped]
        masks = {}
        for place, batch in values.items():
            stays = ~np.isin(self.rows(self._scope_of(place)), gone)
            if len(batch) == len(stays) and not stays.all():
                values[place] = keep_rows(batch, np.flatnonzero(stays))
        for place, mask in self._masks.items():
            masks[place] = mask[~np.isin(self.rows(self._scope_of(place)), gone)]
        kept = np.delete(self.rows(None), gone)
        self._valid = kept if self._valid is None else self._valid[kept]
        self._size = len(kept)
        self._masks = masks
        self._chosen.clear()
        self._rows.clear()
        self.dropped.clear()

    def _scope_of(self, place: tuple[Node, int]) -> Scope | None:
        """The scope of a value."""
        return side_of(place[0], place[1], self._scopes.get(place[0]))
