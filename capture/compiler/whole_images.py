"""Decodes whole images and then cuts random windows out of them, for graphs that keep images."""

from __future__ import annotations

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.operators.operator import operators

from .rewriter import Rewriter, rewrite


def decode_whole_images(graph: Graph) -> Graph:
    """A decoder of windows that differ from epoch to epoch, such as `decoders.image_random_crop`,
    becomes `decoders.image` and the operator that cuts the window out: the same bits, from an image
    that is the same in each epoch."""
    return rewrite(graph, _rule)


def _rule(rewriter: Rewriter, node: Node) -> Edge | None:
    parts = node.operator.cuts_out
    if parts is None or node in rewriter.graph.kept or is_anchored(node) or node.device != "cpu":
        return None
    fixed, (file, *others) = dict(node.attributes), rewriter.inputs(node)
    if fixed.get("on_error") == "replace" or not others:
        return None  # a replacement has the shape of the window; a fixed window can be kept itself
    whole, cut = (operators[name] for name in parts)
    of_window = {name: fixed[name] for name in (*cut.arguments, "shared") if name in fixed}
    rest = {name: fixed[name] for name in whole.arguments if name in fixed}
    image = rewriter.add(node, whole, (file,), rest)
    return rewriter.add(node, cut, (image, *others), of_window)
