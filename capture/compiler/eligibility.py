"""Which nodes are worth one group on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradiva.eager.gpu.fused_elementwise import gpu_kernel, pixelwise_launch
from gradiva.eager.operators.fusion_roles import Expression, Images, Rows

if TYPE_CHECKING:
    from gradiva.capture.graph.graph import Node

__all__ = ["is_expression", "is_gpu_chain"]


def is_gpu_chain(nodes: Sequence[Node]) -> bool:
    """Whether the nodes of a chain are worth one group on a GPU: pixel-wise steps, or a resize with
    what stands around it."""
    stages = [node.operator.stage for node in nodes]
    if any(isinstance(stage, Rows) for stage in stages):
        return not any(isinstance(stage, Images) for stage in stages)
    return all(gpu_kernel(node.operator) is pixelwise_launch for node in nodes)


def is_expression(nodes: Sequence[Node]) -> bool:
    """Whether these are all arithmetic."""
    return all(isinstance(node.operator.stage, Expression) for node in nodes)
