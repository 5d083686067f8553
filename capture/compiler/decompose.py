"""Splits composite operators into their parts, which can be fused with their neighbors."""

from __future__ import annotations

from collections.abc import Sequence

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.execution.gpu_elementwise import gpu_kernel
from gradiva.eager.operators.decomposition import Branches, CompositeCall, DecompositionPart
from gradiva.eager.operators.fusion_roles import Resample, View
from gradiva.eager.operators.operator import operators
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.schedules.settling import has_schedules

from .rewriter import Rewriter, rewrite


def decompose(graph: Graph) -> Graph:
    """Replace each composite operator by its parts, if these may join a fused group."""
    return rewrite(graph, _rule)


def _rule(rewriter: Rewriter, node: Node) -> Edge | tuple[Edge, ...] | None:
    if node.operator.decomposition is None or node in rewriter.graph.kept or is_anchored(node):
        return None
    source = node.inputs[0]
    fixed = dict(node.attributes)
    edges = {edge.argument: edge for edge in rewriter.inputs(node)}
    given = {*fixed, *(name for name in edges if name is not None)}
    layout = source.node.type[source.output].layout
    known = {name: value for name, value in fixed.items() if type(value) is not Schedule}
    parts = node.operator.decomposition(CompositeCall(layout, known, given))
    outputs: list[DecompositionPart] = []
    if isinstance(parts, Branches):
        parts, outputs = parts if node.device == "cpu" else (None, [])
    if parts is None or (node.device == "gpu" and not _follows_resize(rewriter, node, parts)):
        return None

    def added(part: DecompositionPart, image: Edge) -> Edge:
        attributes, inputs = dict(part.fixed), [image]
        for own, name in part.passed.items():
            if name in fixed:
                attributes[own] = fixed[name]
            else:
                inputs.append(Edge(edges[name].node, edges[name].output, own))
        if "slot" in fixed and has_schedules(attributes):
            attributes["slot"] = fixed["slot"]
        return rewriter.add(node, operators[part.operator], tuple(inputs), attributes)

    image = edges[None]
    for part in parts:
        image = added(part, image)
    return tuple(added(part, image) for part in outputs) or image


def _follows_resize(rewriter: Rewriter, node: Node, parts: Sequence[DecompositionPart]) -> bool:
    """Whether the parts can join a resize. Otherwise the composite operator is one launch on a
    GPU."""
    if any(gpu_kernel(operators[part.operator]) is None for part in parts):
        return False
    inner = node.inputs[0].node
    while rewriter.used_once(inner) and inner.device == node.device:
        role = inner.operator.fusion_role
        if isinstance(role, Resample):
            return True
        if not isinstance(role, View | Pixelwise):
            return False
        inner = inner.inputs[0].node
    return False
