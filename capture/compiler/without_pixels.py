"""What is known of images from the headers of their files does not wait for their pixels."""

from __future__ import annotations

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.types.coordinate_maps import IN_PLACE

from .rewriter import Rewriter, rewrite


def without_pixels(graph: Graph) -> Graph:
    """An operator that reads the shapes of decoded images alone, such as that which begins the
    track of targets, becomes one that reads the files; else the images would be decoded for it, and
    could not be decoded within a fused group."""
    return rewrite(graph, _rule)


def _rule(rewriter: Rewriter, node: Node) -> Edge | None:
    find = node.operator.without_pixels
    if find is None or is_anchored(node):
        return None
    edge = node.inputs[0]
    while _keeps_shapes(edge.node):
        edge = edge.node.inputs[0]
    maker = edge.node
    attributes = dict(maker.attributes)
    if not maker.inputs or is_anchored(maker):
        return None
    made = find(maker.operator, attributes)
    if made is None:
        return None
    given = {name: attributes[name] for name in (*made.arguments, "shared") if name in attributes}
    return rewriter.add(node, made, rewriter.inputs(maker), given)


def _keeps_shapes(node: Node) -> bool:
    """Whether this node works pixel by pixel, and its samples have the shapes and the layout of
    those that it reads."""
    role = node.operator.fusion_role
    if node.operator.moves is not IN_PLACE or not isinstance(role, Pixelwise) or role.made != 0:
        return False
    before = node.inputs[0]
    return before.node.type[before.output].layout == node.type[0].layout and not is_anchored(node)
