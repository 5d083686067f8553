"""What a GPU would be asked to do for a fused group: the launches of its resize, whose last one
takes the pixels through the rest of the group while they are in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gradiva.eager.cuda.launch import Launch, Tail

from .fused_cpu import Sweep, UnfitError

__all__ = ["sweep_launches"]

_MOST: Final = 8
"""Channels of a pixel that a thread keeps in registers."""


def sweep_launches(sweep: Sweep) -> Sequence[Launch]:
    """Launches with the bits of `sweep.run()`, for a group of windows, a resize, windows and
    flips, pixel-wise steps, a change to planes. Raises UnfitError for other groups."""
    if sweep.decoder is not None or sweep.rows is None:
        raise UnfitError("no resize to begin with")
    stage = sweep.rows.operator.stage
    at, channels = sweep.look()
    side, (steps, _) = channels, sweep.steps(channels)
    alike = all(s.row.kind == "channelwise" and s.parameters.shape[1] == 1 for s in steps)
    if side > _MOST and alike and not sweep.planes:
        # Then a value is all that a thread has to know.
        side, steps = 1, [step._replace(made=1) for step in steps]
    if not 1 <= side <= _MOST:
        raise UnfitError(f"{side} channels")
    tables, window = sweep.resampling(at, channels)
    flips = np.zeros((len(sweep.source), 3), np.int64)
    if window is not None:
        flips[:, 1], flips[:, 2] = window.upside_down, window.mirror
    target = sweep.target
    tail = Tail(steps, side, target.data, target.geometry.offsets, sweep.planes)
    made: Sequence[Launch] = stage.launches(sweep.source.data, tables, tail, flips)
    return made
