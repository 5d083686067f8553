"""Fused groups on a GPU: chains that are one launch, with the bits of their members' own launches.

What is to join them is added to `is_gpu_chain`, which the compiler asks, and here to `_launches`,
which makes the launches of the members' prepared calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.cuda.launch import Launch
from gradiva.eager.gpu.fused_elementwise import chain_launch
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import Resample
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch

from .fused_cpu import FusedLoop, NotFusableError
from .fused_gpu_launches import fused_launches

__all__ = ["run_launches"]

Blame = Callable[[GradivaError], GradivaError]


def run_launches(
    calls: Sequence[Call], source: Batch, image: Batch, device: Device, blame: Blame
) -> Batch:
    """The output of a group on a GPU.

    calls: prepared, each reads what the one before makes; image: what the last one makes, without
    data; blame: as of `FusedLoop`. Raises NotFusableError, also if there is no memory.
    """
    try:
        source = source.to_device(device)
        target = Batch.empty(image.geometry, image.type, source.provenance, device)
        gpu_of(device).run(_launches(calls, source, target, blame))
    except (OperatorRuntimeError, MemoryError) as error:
        # One by one, so that the error names the member.
        raise NotFusableError(str(error)) from None
    return target


def _launches(
    calls: Sequence[Call], source: Batch, target: Batch, blame: Blame
) -> Sequence[Launch]:
    if any(isinstance(call.operator.fusion_role, Resample) for call in calls):
        return fused_launches(FusedLoop(source, list(calls), target, blame))
    return [chain_launch(calls, source, target)]
