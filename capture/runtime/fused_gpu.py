"""Fused groups on a GPU: chains that are one launch, with the bits of their members' own launches.

What is to join them is added to `is_gpu_chain`, which the compiler asks, and here to `_launches`,
which makes the launches of the members' prepared calls. The last launch of a resize takes the
pixels through the rest of the group while they are in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.cuda.launch import Epilogue, Launch
from gradiva.eager.execution.gpu_elementwise import chain_launch
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import Resample
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch

from .fused_cpu import FusedLoop
from .fusion_report import NotFusableError, Reason
from .source_views import composed, first_rows

__all__ = ["fused_launches", "run_launches"]

LocateError = Callable[[GradivaError], GradivaError]

_MOST: Final = 8
"""Channels of a pixel that a thread keeps in registers."""


def run_launches(
    calls: Sequence[Call], source: Batch, image: Batch, device: Device, locate_error: LocateError
) -> Batch:
    """The output of a group on a GPU.

    calls: prepared, each reads what the one before makes; image: what the last one makes, without
    data; locate_error: as of `FusedLoop`. Raises NotFusableError, also if there is no memory.
    """
    try:
        source = source.to_device(device)
        target = Batch.empty(image.batch_shape, image.type, source.provenance, device)
        gpu_of(device).run(_launches(calls, source, target, locate_error))
    except (OperatorRuntimeError, MemoryError) as error:
        # One by one, so that the error names the member.
        raise NotFusableError(Reason.MEMORY, type(error).__name__) from None
    return target


def _launches(
    calls: Sequence[Call], source: Batch, target: Batch, locate_error: LocateError
) -> Sequence[Launch]:
    if any(isinstance(call.operator.fusion_role, Resample) for call in calls):
        return fused_launches(FusedLoop(source, list(calls), target, locate_error))
    return [chain_launch(calls, source, target)]


def fused_launches(loop: FusedLoop) -> Sequence[Launch]:
    """Launches with the bits of `loop.run()`, for a group of windows, a resize, windows and
    flips, pixel-wise steps, a change to planes. Raises NotFusableError for other groups."""
    if loop.decoder is not None or loop.rows is None:
        raise NotFusableError(Reason.NO_RESIZE)
    role = loop.rows.operator.fusion_role
    at, counts = loop.check_fusable()
    view = composed(loop.before, at)
    if loop.mixed:
        raise NotFusableError(Reason.CHANNELS)
    if view is not None and (view.mirror.any() or view.upside_down.any()):
        raise NotFusableError(Reason.FLIP_BEFORE_RESIZE)
    channels = int(counts[0])
    side, (steps, _) = channels, loop.steps(channels)
    alike = all(s.row.kind == "channelwise" and s.parameters.shape[1] == 1 for s in steps)
    if side > _MOST and alike and not loop.planes:
        # Then a value is all that a thread has to know.
        side, steps = 1, [step._replace(made=1) for step in steps]
    if not 1 <= side <= _MOST:
        raise NotFusableError(Reason.CHANNELS, f"{side} channels")
    heights = loop.rows.inputs[0].batch_shape.shapes[:, at]
    tables, window = loop.resampling(at, channels, *first_rows(view, heights))
    flips = np.zeros((len(loop.source), 3), np.int64)
    if window is not None:
        flips[:, 1], flips[:, 2] = window.upside_down, window.mirror
    target = loop.target
    epilogue = Epilogue(steps, side, target.data, target.batch_shape.offsets, loop.planes)
    made: Sequence[Launch] = role.launches(loop.source.data, tables, epilogue, flips)
    return made
