"""`gaussian_blur` and `laplacian` on the GPU: one launch for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array, Int64Array

from .blur_windows import extents_of

_BLUR: Final = op.CudaKernel("blur", (None, Path(__file__).with_name("blur.cuh")))
_FLOAT: Final = np.dtype(np.float32)


class Windows(NamedTuple):
    """What one blur is made of: weights (N, 3, K) and half sizes (N, 3), for the axes D, H, W.

    factors: (N,), of a summand; None if there is but one blur, and no factor.
    """

    weights: Float32Array
    halves: Int64Array
    factors: Float32Array | None = None


def blur_launches(call: op.Call, parts: Sequence[Windows]) -> list[op.Launch]:
    """Blur along W, H and D, with float32 between; of several parts the sum."""
    source, target = call.inputs[0], call.outputs[0]
    op.refuse_large(source.batch_shape.volumes)
    extents, _ = extents_of(source.layout, source.batch_shape.shapes)
    blocks = op.blocks_of(target.batch_shape.volumes)
    between = [op.Scratch(target.batch_shape.size, _FLOAT) for _ in range(3)]
    sums = between.pop()
    launches = []
    for number, part in enumerate(parts):
        data: Any = source.data
        first = source.batch_shape.offsets
        # A window of one weight, 1, changes nothing.
        axes = [axis for axis in (2, 1, 0) if part.halves[:, axis].any()] or [2]
        for axis in axes:
            last = axis == axes[-1]
            final = last and number == len(parts) - 1
            written = target.data if final else sums if last else between[axis % 2]
            summed = 0 if part.factors is None or not last else 1 if number == 0 else 2
            weights = np.ascontiguousarray(part.weights[:, axis])
            # Pointers that the kernel does not use point to the weights.
            factors = part.factors if summed and part.factors is not None else weights
            table = _table(first, target.batch_shape.offsets, extents, axis, part.halves[:, axis])
            types = {"Source": op.type_name(data.dtype), "Target": op.type_name(written.dtype)}
            unit = _BLUR.unit(types, f"constexpr int SUMMED = {summed};\n")
            added = sums if summed == 2 else weights
            windows = weights, np.int64(weights.shape[1]), factors
            arguments = data, op.OutputArg(written), added, table, blocks.table, *windows
            launches.append(op.Launch(unit, blocks.total, arguments))
            data, first = written, target.batch_shape.offsets
    return launches


def _table(
    source: Int64Array, target: Int64Array, extents: Int64Array, axis: int, halves: Int64Array
) -> Any:
    """(N, 8) int32: the struct `Axis` of blur.cuh."""
    inner = extents[:, 2 + axis :].prod(axis=1)
    narrow = [extents.prod(axis=1), extents[:, 1 + axis], inner, halves]
    return op.struct_rows([source, target], narrow)
