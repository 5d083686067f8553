"""What a source need not read, because nothing but a cache reads it, which has the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradiva.capture.compiler.caches import CacheRecipe, recipe_of
from gradiva.capture.graph.builtin_ops import parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.eager.types.arrays import BoolVector

__all__ = ["Known", "reads_of_caches"]

Identities: TypeAlias = Mapping[int, Sequence[str | None]]
Known: TypeAlias = Callable[[Identities], BoolVector]


def reads_of_caches(graph: Graph, source: Node) -> tuple[frozenset[int], Known | None]:
    """The outputs of a source that only caches read, and a function that says which samples need
    not be read, from their identities for each of these outputs."""
    caches: dict[int, list[tuple[CacheRecipe, list[Edge]]]] = {}
    read = {edge.output for edge in graph.outputs if edge.node is source}
    if source in graph.kept:
        read.update(range(len(source.type)))
    for node in graph.nodes:
        if node.operator is random_key:
            continue
        for member, edges in _reading(node):
            recipe = recipe_of(member)
            for edge in edges:
                if edge.node is not source:
                    continue
                if recipe is None or any(one.node is not source for one in edges):
                    read.add(edge.output)
                else:
                    caches.setdefault(edge.output, []).append((recipe, edges))
    left = frozenset(caches) - read
    used = {id(recipe): (recipe, edges) for out in left for recipe, edges in caches[out]}
    if not left or any(edge.output not in left for _, edges in used.values() for edge in edges):
        return frozenset(), None

    def known(identities: Identities) -> BoolVector:
        found = [
            recipe.runner.known([identities[edge.output] for edge in edges])
            for recipe, edges in used.values()
        ]
        whole: BoolVector = np.logical_and.reduce(found)
        return whole

    return left, known


def _reading(node: Node) -> list[tuple[Node, list[Edge]]]:
    """The nodes that read: the node, or the members of a group, with what they read outside."""
    if not node.members:
        return [(node, list(node.inputs))]
    found: list[tuple[Node, Any]] = []
    for member in node.members:
        outer = [
            node.inputs[edge.node.attribute("number")]
            for edge in member.inputs
            if edge.node.operator is parameter
        ]
        found.append((member, outer))
    return found
