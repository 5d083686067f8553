"""Constant folding: computes what depends on constants only, and removes calls that change
nothing."""

from __future__ import annotations

import numpy as np

from gradiva.capture.graph.builtin_ops import constant, fused, parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, Node, Opaque
from gradiva.capture.graph.scopes import predicates_of, scopes_of
from gradiva.eager.execution.error_policy import continues_on_error
from gradiva.eager.execution.execute import execute
from gradiva.eager.runtime.worker_pool import shared_pool
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.batch import Batch

from .rewriter import Rewriter, rewrite

_LARGEST = 1 << 16
"""The most elements of a folded constant; larger ones are computed by the program."""


def fold(graph: Graph) -> Graph:
    """Replace pure nodes that read only constants by constants, and copies by their inputs."""
    # Nodes that choose branches, or belong to one, are kept: a constant would belong to no branch.
    fixed = {*predicates_of(graph.nodes), *scopes_of(graph.nodes)}
    return rewrite(graph, lambda rewriter, node: _rule(rewriter, node, node in fixed))


def _rule(rewriter: Rewriter, node: Node, fixed: bool) -> Edge | None:
    if node in rewriter.graph.kept or len(node.type) != 1:
        return None
    inputs = rewriter.inputs(node)
    if _changes_nothing(node) and not (fixed and inputs[0].node.operator is constant):
        return inputs[0]
    leaf = node.operator in (constant, fused, parameter, random_key)
    if (
        fixed
        or leaf
        or node.device == "gpu"
        or continues_on_error(dict(node.attributes))
        or node.operator.random
        or node.operator.effects
        or not inputs
        or has_schedules(dict(node.attributes))
    ):
        return None
    if any(edge.node.operator is not constant for edge in inputs):
        return None
    given = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in node.attributes
        if name in node.operator.arguments
    }
    values: list[Batch] = []
    for edge in inputs:
        if edge.argument is None:
            values.append(_batch(edge.node))
        else:
            given[edge.argument] = _batch(edge.node)
    try:
        (result,) = execute(node.operator, tuple(values), given, 1, shared_pool(1))
    except GradivaError:
        return None  # the error is raised when the program runs
    if result.data.size > _LARGEST:
        return None
    return rewriter.constant(node, result.tensors[0])


def _batch(node: Node) -> Batch:
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = node.attribute("value")
    return Batch.over(array.reshape(-1), BatchShape.repeated(1, array.shape), node.type[0])


def _changes_nothing(node: Node) -> bool:
    """Whether a node returns its input, such as a cast to the dtype that the input has."""
    if not node.operator.identity_on_same_type:
        return False
    edge = node.inputs[0]
    return node.type[0].dtype is not None and edge.node.type[edge.output] == node.type[0]
