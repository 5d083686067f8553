"""Which nodes may join a fused group, and which are worth it on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradiva.eager.execution.gpu_elementwise import gpu_kernel, pixelwise_launch
from gradiva.eager.operators.fusion_roles import Decode, Expression, Resample

if TYPE_CHECKING:
    from gradiva.capture.graph.graph import Node


def is_step(node: Node) -> bool:
    """Whether no argument keeps a resize or a pixel-wise operator out of fused groups."""
    role = node.operator.fusion_role
    if isinstance(role, Resample):
        return role.may_fuse is None or role.may_fuse(dict(node.attributes), node.device)
    return all(node.attribute(name) is None for name in role.unfusable_arguments)


def is_gpu_chain(nodes: Sequence[Node]) -> bool:
    """Whether the nodes of a chain are worth fusing on a GPU: pixelwise steps, or a resize with its
    neighbors."""
    roles = [node.operator.fusion_role for node in nodes]
    if any(isinstance(role, Resample) for role in roles):
        return not any(isinstance(role, Decode) for role in roles)
    return all(gpu_kernel(node.operator) is pixelwise_launch for node in nodes)


def is_expression(nodes: Sequence[Node]) -> bool:
    """Whether these are all arithmetic."""
    return all(isinstance(node.operator.fusion_role, Expression) for node in nodes)
