"""Moves crops and flips toward the source, past pixelwise operators."""

from __future__ import annotations

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.capture.graph.type_inference import infer
from gradiva.eager.operators.fusion_roles import View
from gradiva.eager.operators.pixelwise import Pixelwise

from .eligibility import is_step
from .rewriter import Rewriter, rewrite


def hoist_views(graph: Graph) -> Graph:
    """view(pixelwise(x)) becomes pixelwise(view(x)), until nothing changes."""
    while True:
        moved = rewrite(graph, _rule)
        if [node.operator for node in moved.nodes] == [node.operator for node in graph.nodes]:
            return graph
        graph = moved


def _rule(rewriter: Rewriter, node: Node) -> Edge | None:
    role = node.operator.fusion_role
    if (
        not isinstance(role, View)
        or not role.commutes_with_pixelwise
        or node in rewriter.graph.kept
    ):
        return None
    inner = node.inputs[0].node
    if not isinstance(inner.operator.fusion_role, Pixelwise) or not rewriter.used_once(inner):
        return None
    if not is_step(inner):
        return None
    if is_anchored(inner) or inner.device != node.device:
        return None
    if role.pinned is not None and role.pinned(dict(node.attributes)):
        return None
    images = rewriter.inputs(inner)
    view = (images[0], *rewriter.inputs(node)[1:])
    if inner.operator.fusion_role.made and role.reads_channels:
        return None
    attributes = dict(node.attributes)
    types = infer(node.operator, view, attributes, node.device)
    after = infer(inner.operator, images, dict(inner.attributes), inner.device)
    if types[0].layout != node.type[0].layout or after[0].layout != types[0].layout:
        return None  # a layout that one of them would have to assume
    image = rewriter.add(node, node.operator, view, attributes)
    return rewriter.add(inner, inner.operator, (image, *images[1:]), dict(inner.attributes))
