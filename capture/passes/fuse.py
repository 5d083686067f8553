"""Join chains of operators into groups that are run in one pass over the pixels."""

from __future__ import annotations

from collections.abc import Sequence

from gradiva.eager.pixelwise import Pixelwise
from gradiva.eager.stages import Planes, Reindex, Rows

from ..graph import Edge, Graph, Members, Node
from ..leaves import fused, parameter
from ..rewrite import Rewriter, rewrite

__all__ = ["fuse", "region"]


def region(graph: Graph) -> Graph:
    """A resize and the crops and flips after it: only the region that is asked for is made."""
    return rewrite(graph, lambda rewriter, node: _join(rewriter, node, (Rows, Reindex)))


def fuse(graph: Graph) -> Graph:
    """Views, a resize, views, pixel-wise steps, planes: written straight into the output batch."""
    kinds = (Rows, Reindex, Pixelwise, Planes)
    return rewrite(graph, lambda rewriter, node: _join(rewriter, node, kinds))


def _join(rewriter: Rewriter, node: Node, kinds: tuple[type, ...]) -> Edge | None:
    """`node` and the node before it as one group, if they can be one."""
    if not _may_join(node, kinds) or node in rewriter.graph.kept:
        return None
    before = node.inputs[0].node
    if not rewriter.used_once(before):
        return None
    image, *others = rewriter.inputs(node)
    earlier = image.node.members or (image.node,)
    if not (image.node.members or _may_join(image.node, kinds)):
        return None
    if not _is_chain([*earlier, node]):
        return None
    group = _Group(rewriter)
    if image.node.members:
        group.take(image.node)
    else:
        group.append(image.node, image.node.inputs)
    group.append(node, (image, *others))
    return group.edge(node)


def _may_join(node: Node, kinds: tuple[type, ...]) -> bool:
    single = len(node.type) == 1 and bool(node.inputs) and node.inputs[0].argument is None
    return isinstance(node.operator.stage, kinds) and single and not node.operator.effects


def _is_chain(nodes: Sequence[Node]) -> bool:
    """Whether these are views, then at most one resize, views, steps, and at most one change to
    planes. A region of a resize is worth a group; views alone are not: they copy once anyway."""
    phase = 0
    for node in nodes:
        stage = node.operator.stage
        if isinstance(stage, Rows):
            if phase > 0:
                return False
            phase = 1
        elif isinstance(stage, Reindex):
            if phase > 1:
                return False
        elif isinstance(stage, Planes):
            if phase > 2:
                return False
            phase = 3
        else:
            phase = max(phase, 2)
    return True


class _Group:
    """A fused group while it is put together: a chain of inner nodes, and what they read."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self.inputs: list[Edge] = []
        self.members: list[Node] = []
        self._leaves: dict[tuple[Node, int], Node] = {}

    def take(self, group: Node) -> None:
        """Begin with the members of a group."""
        self.members = list(group.members)
        self.inputs = list(group.inputs)
        for member in group.members:
            for edge in member.inputs:
                if edge.node.operator is parameter:
                    outer = group.inputs[edge.node.attribute("number")]
                    self._leaves[outer.node, outer.output] = edge.node

    def append(self, node: Node, edges: Sequence[Edge]) -> None:
        inner: list[Edge] = []
        for index, edge in enumerate(edges):
            if index == 0 and self.members:
                inner.append(Edge(self.members[-1], 0))
            else:
                inner.append(Edge(self._leaf(edge), 0, edge.argument))
        made = Node(node.operator, tuple(inner), node.attributes, node.type)
        self.members.append(made)
        graph, builder = self.rewriter.graph, self.rewriter.builder
        old = node if node in graph.locations else self.rewriter.found(node)
        builder.describe(made, graph.locations.get(old, ()), graph.origins.get(old))

    def _leaf(self, edge: Edge) -> Node:
        key = (edge.node, edge.output)
        if key not in self._leaves:
            number = len(self.inputs)
            type = edge.node.type[edge.output]
            self._leaves[key] = Node(parameter, (), (("number", number),), (type,))
            self.inputs.append(Edge(edge.node, edge.output))
        return self._leaves[key]

    def edge(self, node: Node) -> Edge:
        """The group as a node of the new graph."""
        made = self.rewriter.builder.add(
            fused, tuple(self.inputs), {"members": Members(tuple(self.members))}, node.type
        )
        return Edge(made, 0)
