"""Join what makes spectra of audio into groups that are run in one pass over each signal."""

from __future__ import annotations

from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.operators.fusion_roles import SpectralStep, View

from .fuse_chains import Chain
from .rewriter import Rewriter, replace_chains

_FRAMES = 2


def fuse_spectra(graph: Graph) -> Graph:
    """A part of a signal, a filter, frames and their spectra, bands, levels: as one."""
    return replace_chains(graph, _chain, _join)


def _chain(rewriter: Rewriter, last: Node) -> list[Node]:
    """The members of a group that ends here; none, if there is nothing to join."""
    nodes, phase = [last], _phase(rewriter.graph, last)
    if phase is None or phase < 1:
        return []
    while phase > 0:
        before = nodes[0].inputs[0].node
        earlier = _phase(rewriter.graph, before)
        if earlier is None or earlier >= phase or not rewriter.used_once(before):
            break
        if nodes[0].inputs[0].argument is not None:
            break
        nodes.insert(0, before)
        phase = earlier
    phases = [_phase(rewriter.graph, node) for node in nodes]
    return nodes if len(nodes) > 1 and _FRAMES in phases else []


def _phase(graph: Graph, node: Node) -> int | None:
    """Which step of the pass a node is; 0 for a part of a signal, None for what is none."""
    role = node.operator.fusion_role
    if node.device == "gpu" or node.members or len(node.type) != 1 or not node.inputs:
        return None
    if node.operator.effects or is_anchored(node) or node in graph.kept:
        return None
    if isinstance(role, SpectralStep):
        return role.phase
    one_axis = node.type[0].ndim == 1
    return 0 if isinstance(role, View) and role.begins is not None and one_axis else None


def _join(rewriter: Rewriter, chain: list[Node]) -> Edge | None:
    group = Chain(rewriter)
    for node in chain:
        group.take(node, rewriter.inputs(node))
    return group.edge(chain[-1])
