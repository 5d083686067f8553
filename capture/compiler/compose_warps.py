"""Warps that follow each other, whose pixels are gathered once."""

from __future__ import annotations

from typing import Any, Final

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.types.coordinate_maps import Gather, gather_of, gathers_alike
from gradiva.ops.targets.composed import composition_of
from gradiva.ops.targets.follower import passed_on

from .rewriter import Rewriter, replace_chains

_LAYOUTS: Final = {3: "HWC", 4: "FHWC"}


def compose_warps(graph: Graph) -> Graph:
    """Operators that follow each other and move pixels by matrices, with one interpolation and one
    fill value, become the maps of these, and one operator that gathers the pixels. It changes bits,
    and so it is no pass unless the user says so."""
    return replace_chains(graph, _chain, _compose)


def _chain(uses: Rewriter, last: Node) -> list[Node]:
    """The operators of a chain that ends here; none, if there is nothing to compose."""
    found = _gather(uses.graph, last)
    if found is None or not found.resamples:
        return []
    nodes, gathers = [last], [found]
    while nodes[0].inputs[0].argument is None:
        before = nodes[0].inputs[0].node
        earlier = _gather(uses.graph, before)
        if earlier is None or not uses.used_once(before) or not gathers_alike([earlier, *gathers]):
            break
        nodes.insert(0, before)
        gathers.insert(0, earlier)
    while not gathers[0].resamples:  # crops may be joined with what makes the image
        del nodes[0], gathers[0]
    return nodes if sum(one.resamples for one in gathers) > 1 else []


def _gather(graph: Graph, node: Node) -> Gather | None:
    """How a node gathers pixels; None if it does not, or not by one matrix for each sample."""
    operator = node.operator
    found = gather_of(operator.name, dict(node.attributes))
    if found is None or node.device != "cpu" or node.members or is_anchored(node):
        return None
    if node in graph.kept or not node.inputs:
        return None
    image = node.inputs[0].node.type[node.inputs[0].output]
    if image.ndim not in _LAYOUTS or image.layout not in ("", _LAYOUTS[image.ndim]):
        return None
    for edge in node.inputs[1:] if image.ndim == 4 else ():
        layout = edge.node.type[edge.output].layout
        if layout is None or layout.startswith("F"):
            return None  # the frames may move each in its own way
    return found


def _compose(rewriter: Rewriter, chain: list[Node]) -> Edge | None:
    first, last = chain[0], chain[-1]
    image = rewriter.moved(first.inputs[0])
    parts = composition_of([node.operator for node in chain])
    track = rewriter.add(first, parts.begin, (image,), {})
    for node, follower in zip(chain, parts.follow, strict=True):
        given: dict[str, Any] = passed_on(dict(node.attributes))
        taken = {name: given[name] for name in (*follower.arguments, "shared") if name in given}
        inputs = (track, *(rewriter.moved(edge) for edge in node.inputs[1:]))
        track = rewriter.add(node, follower, inputs, taken)
    gathers = [gather_of(node.operator.name, dict(node.attributes)) for node in chain]
    found = next(one for one in gathers if one is not None and one.resamples)
    maps = ", ".join(node.operator.name for node in chain)
    given = {"interp_type": found.filter, "fill_value": found.fill, "maps": maps}
    return rewriter.add(last, parts.gather, (image, track), given)
