"""Fused groups on a GPU: chains that are one launch, with the bits of their members' own launches.

A chain of pixel-wise steps is one. What is to join it is added here: to `is_gpu_chain`, which the
compiler asks, and to `_launches`, which makes the launches of the members' prepared calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradiva.eager.batch import Batch
from gradiva.eager.cuda import gpu_of
from gradiva.eager.device import Device
from gradiva.eager.errors import OperatorRuntimeError
from gradiva.eager.gpu.chains import chain_launch, gpu_kernel, pixelwise_launch
from gradiva.eager.gpu.launch import Launch
from gradiva.eager.run import Call

from .sweep import UnfitError

if TYPE_CHECKING:
    from .graph import Node

__all__ = ["is_gpu_chain", "run_launches"]


def is_gpu_chain(nodes: Sequence[Node]) -> bool:
    """Whether these nodes, each of which reads the one before, are one launch on a GPU."""
    return all(gpu_kernel(node.operator) is pixelwise_launch for node in nodes)


def run_launches(calls: Sequence[Call], source: Batch, image: Batch, device: Device) -> Batch:
    """The output of a group on a GPU. calls: prepared, each reads what the one before makes; image:
    what the last one makes, without data. Raises UnfitError, also if there is no memory."""
    try:
        source = source.to_device(device)
        target = Batch.empty(image.geometry, image.type, source.provenance, device)
        gpu_of(device).run(_launches(calls, source, target))
    except (OperatorRuntimeError, MemoryError) as error:
        # One by one, so that the error names the member.
        raise UnfitError(str(error)) from None
    return target


def _launches(calls: Sequence[Call], source: Batch, target: Batch) -> Sequence[Launch]:
    return [chain_launch(calls, source, target)]
