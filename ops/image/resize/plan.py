"""What the shape rules of the resize family decide."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array


@dataclass(frozen=True)
class ResizePlan(op.Plan):
    """Which region of each sample becomes how large.

    inputs, outputs: sizes (N, axes); low, high: both ends of the source regions (N, axes); filters:
    as `filters_of` returns them, (N,) with `compat`; crop: with `compat`, filters must not look
    beyond the regions.
    """

    inputs: op.Int64Array
    outputs: op.Int64Array
    low: Array
    high: Array
    filters: op.Int64Array
    crop: bool = field(default=False, kw_only=True)
