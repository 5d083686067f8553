"""What `pad` writes beside a sample, other than one value: its own elements again."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Int64Array

MODES: Final = ("constant", "edge", "reflect", "symmetric")


def check_mode(mode: str) -> None:
    """Refuse what is no mode."""
    if mode not in MODES:
        raise op.wrong_value("mode", f"one of {', '.join(MODES)}", repr(mode))


def places(extent: int, before: int, after: int, mode: str) -> Int64Array:
    """Which element of an axis stands at each place, from `before` places in front of it to `after`
    behind it; as numpy.pad has them. There is at least one element."""
    at: Int64Array = np.arange(-before, extent + after)
    if mode == "edge" or (mode == "reflect" and extent == 1):
        return np.clip(at, 0, extent - 1)
    if mode == "symmetric":
        at = at % (2 * extent)
        return np.minimum(at, 2 * extent - 1 - at)
    period = 2 * (extent - 1)
    at = at % period
    return np.minimum(at, period - at)


def pad_by_mode(call: op.Call, before: Int64Array) -> None:
    """Fill the output; before: (N, ndim), how many elements stand in front of a sample."""
    source, target = call.inputs[0], call.outputs[0]
    shapes, sizes = source.batch_shape.shapes, target.batch_shape.shapes
    after = sizes - before - shapes
    empty = ((shapes == 0) & (sizes > 0)).any(axis=1) & (sizes > 0).all(axis=1)
    expected = "elements to repeat along each axis that is padded"
    op.refuse_samples(empty, "mode", expected, source.batch_shape.shape)
    unsigned = f"u{source.dtype.itemsize}"
    mode, ndim = call["mode"], shapes.shape[1]

    def make(sample: int) -> None:
        made: Array = source.array(sample).view(unsigned)
        padded = [k for k in range(ndim) if before[sample, k] or after[sample, k]]
        result = target.array(sample).view(unsigned)
        if not padded:
            result[...] = made
        for axis in padded:
            extent, low, high = (int(part[sample, axis]) for part in (shapes, before, after))
            chosen = places(extent, low, high, mode)
            if axis == padded[-1]:
                np.take(made, chosen, axis, out=result, mode="clip")
            else:
                made = np.take(made, chosen, axis, mode="clip")

    call.each_sample(make, target.batch_shape.volumes.tolist())
