"""Fuses chains of operators into groups that run in one pass over the pixels."""

from __future__ import annotations

from collections.abc import Sequence

from gradiva.capture.graph.builtin_ops import parameter
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.operators.fusion_roles import Decode, Resample, ToPatches, ToPlanar, View
from gradiva.eager.operators.pixelwise import Pixelwise

from .eligibility import is_gpu_chain, is_step
from .fusion_groups import Grouping
from .rewriter import Rewriter, rewrite


def fuse_resize_views(graph: Graph) -> Graph:
    """A resize, and the crops and flips after it: only the requested region is computed."""
    return rewrite(graph, lambda rewriter, node: _join(rewriter, node, (Resample, View)))


def fuse(graph: Graph) -> Graph:
    """A decoder, views, a resize, views, pixelwise steps, a change to planes, patches: written
    directly into the output batch."""
    kinds = (Decode, Resample, View, Pixelwise, ToPlanar, ToPatches)
    return rewrite(graph, lambda rewriter, node: _join(rewriter, node, kinds))


def _join(rewriter: Rewriter, node: Node, kinds: tuple[type, ...]) -> Edge | None:
    """`node` and the node before it as one group, if they can be fused."""
    if not _may_join(node, kinds) or node in rewriter.graph.kept:
        return None
    before = node.inputs[0].node
    if not rewriter.used_once(before):
        return None
    inputs = rewriter.inputs(node)
    image = inputs[0].node
    chain = [*_members(image), *_members(node)]
    if image.device != node.device or not _may_join(image, kinds) or not _is_chain(chain):
        return None
    if node.device == "gpu" and not is_gpu_chain(chain):
        return None
    group = Chain(rewriter)
    group.take(image, image.inputs)
    group.take(node, inputs)
    return group.edge(node)


def _members(node: Node) -> tuple[Node, ...]:
    return node.members or (node,)


def _may_join(node: Node, kinds: tuple[type, ...]) -> bool:
    """Whether this is an operator of these kinds, or a group with such members."""
    single = len(node.type) == 1 and bool(node.inputs) and node.inputs[0].argument is None
    role = node.operator.fusion_role
    fits = bool(node.members) or isinstance(role, kinds)
    if fits and isinstance(role, Resample | Pixelwise):
        fits = is_step(node)
    return fits and single and not (node.operator.effects or is_anchored(node))


def _is_chain(nodes: Sequence[Node]) -> bool:
    """Whether these are an optional decoder, views, at most one resize, views, pixelwise steps, at
    most one change to planes, and at most one to patches."""
    phase = 0
    for node in nodes:
        role = node.operator.fusion_role
        if phase > 3:
            return False
        if isinstance(role, Decode):
            if node is not nodes[0]:
                return False
        elif isinstance(role, Resample):
            if phase > 0:
                return False
            phase = 1
        elif isinstance(role, View):
            if phase > 1:
                return False
        elif isinstance(role, ToPlanar):
            if phase > 2:
                return False
            phase = 3
        elif isinstance(role, ToPatches):
            phase = 4
        else:
            phase = max(phase, 2)
    return True


class Chain(Grouping):
    """A chain of inner nodes, and their inputs."""

    def take(self, node: Node, inputs: Sequence[Edge]) -> None:
        """A node, or all members of a group, that reads `inputs`."""
        if not node.members:
            self._append(node, inputs)
        for index, member in enumerate(node.members):
            # The first input of each member except the first is the previous member.
            outer = [
                inputs[edge.node.attribute("number")]._replace(argument=edge.argument)
                if edge.node.operator is parameter
                else edge
                for edge in member.inputs
            ]
            self._append(member, outer if index else [inputs[0], *outer[1:]])

    def _append(self, node: Node, edges: Sequence[Edge]) -> None:
        inner: list[Edge] = []
        for index, edge in enumerate(edges):
            if index == 0 and self.members:
                inner.append(Edge(self.members[-1], 0))
            else:
                inner.append(self.leaf(edge))
        self.member(node, inner)
