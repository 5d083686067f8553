"""What the operators that take pixels from places have on the GPU in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Int64Array

from .warp import filling_of, framed

TAPS: Final = Path(__file__).with_name("taps.cuh")
_WARP: Final = op.CudaKernel("warp", (None, TAPS, TAPS.with_name("warp.cuh")))
_TILE: Final = 256
_PLACES: Final = 2048
"""Places that a block adds up and keeps, for each axis; warp.cuh has room for them."""
_MOST_TILES: Final = 128


def pixel_types(source: op.Batch, target: op.Batch) -> dict[str, str]:
    return {"Source": op.type_name(source.data.dtype), "Target": op.type_name(target.data.dtype)}


def affine_launch(call: op.Call, matrices: Any, places: Int64Array) -> op.Launch:
    """The launch of `run_affine`; matrices: None for those of the second input."""
    source, target = call.inputs[0], call.outputs[0]
    shapes, sizes = framed(call)
    axes = sizes.shape[1]
    size = axes * (axes + 1)
    firsts = places[:, 0] * size
    if matrices is None:
        firsts, matrices = call.inputs[1].batch_shape.offsets, call.inputs[1].data
    op.refuse_large(source.batch_shape.volumes)
    op.refuse_large(target.batch_shape.volumes)
    width = np.clip(sizes[:, -1], 1, _TILE)
    across = -(-sizes[:, -1] // _TILE)
    lines = sizes[:, :-1].prod(axis=1)
    tiles = shapes[:, 0] * lines * across
    groups = np.minimum(_PLACES // width, _MOST_TILES)
    narrow = np.ones((6, call.size), np.int64)
    narrow[3 - axes : 3], narrow[6 - axes :] = shapes[:, 1:-1].T, sizes.T
    table = op.struct_rows(
        [source.batch_shape.offsets, target.batch_shape.offsets, firsts, places[:, 1] * size],
        [*narrow, shapes[:, -1], across, width, groups, tiles, lines],
    )
    blocks = op.blocks_of(np.where(target.batch_shape.volumes, tiles, 0), groups)
    linear = call["interp_type"] == op.InterpType.INTERP_LINEAR
    text = f"constexpr i32 AXES = {axes};\n{interpolation_text(linear)}"
    filled, *fills = filling_of(call)
    data, result = source.data, op.OutputArg(target.data)
    arguments = data, result, matrices, table, blocks.table, np.bool_(filled), *fills
    return op.Launch(_WARP.unit(pixel_types(source, target), text), blocks.total, arguments)


def interpolation_text(linear: bool) -> str:
    """C++: which interpolation taps.cuh is compiled for."""
    return f"constexpr bool LINEAR = {str(linear).lower()};\n"
