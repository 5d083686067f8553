"""What a GPU would be asked to do for a fused group: the launches of its resize, whose last one
takes the pixels through the rest of the group while they are in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gradiva.eager.cuda.launch import Epilogue, Launch

from .fused_cpu import FusedLoop, NotFusableError

__all__ = ["fused_launches"]

_MOST: Final = 8
"""Channels of a pixel that a thread keeps in registers."""


def fused_launches(loop: FusedLoop) -> Sequence[Launch]:
    """Launches with the bits of `loop.run()`, for a group of windows, a resize, windows and
    flips, pixel-wise steps, a change to planes. Raises NotFusableError for other groups."""
    if loop.decoder is not None or loop.rows is None:
        raise NotFusableError("no resize to begin with")
    role = loop.rows.operator.fusion_role
    at, channels = loop.check_fusable()
    side, (steps, _) = channels, loop.steps(channels)
    alike = all(s.row.kind == "channelwise" and s.parameters.shape[1] == 1 for s in steps)
    if side > _MOST and alike and not loop.planes:
        # Then a value is all that a thread has to know.
        side, steps = 1, [step._replace(made=1) for step in steps]
    if not 1 <= side <= _MOST:
        raise NotFusableError(f"{side} channels")
    tables, window = loop.resampling(at, channels)
    flips = np.zeros((len(loop.source), 3), np.int64)
    if window is not None:
        flips[:, 1], flips[:, 2] = window.upside_down, window.mirror
    target = loop.target
    epilogue = Epilogue(steps, side, target.data, target.geometry.offsets, loop.planes)
    made: Sequence[Launch] = role.launches(loop.source.data, tables, epilogue, flips)
    return made
