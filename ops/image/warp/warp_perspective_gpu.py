"""`experimental.warp_perspective` on the GPU: the matrices, then the pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import THREADS
from gradiva.eager.types.arrays import Array, Int64Array
from gradiva.ops.image.filter.borders import BORDERS_SOURCE, border_text

_HERE: Final = Path(__file__).parent
_MATRICES: Final = op.CudaKernel("projections", (_HERE / "projections.cuh",))
_PIXELS: Final = op.CudaKernel(
    "warp_perspective", (None, BORDERS_SOURCE, _HERE / "warp_perspective.cuh")
)
_BORDERS: Final = {"replicate": "clamp", "reflect": "reflect_1001"}
_SIZE: Final = 9
_BLOCK: Final = 1024
"""Pixels for which OpenCV computes places at once, in blocks of up to 16 rows."""


def perspective_launches(
    call: op.Call, matrices: Any, places: Int64Array, fill: Array
) -> list[op.Launch]:
    """matrices, places: as `warp_matrices` returns them; fill: a value for each channel."""
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout
    op.refuse_large(source.batch_shape.volumes)
    # The matrices, one after the other, wherever they lie in the slab.
    if matrices is None:
        maps = call.inputs[1]
        counts = maps.batch_shape.volumes // _SIZE
        before = counts.cumsum() - counts
        numbers = np.arange(counts.sum()) - np.repeat(before, counts)
        firsts = np.repeat(maps.batch_shape.offsets, counts) + numbers * _SIZE
        data: Any = maps.data
    else:
        firsts, data = np.arange(len(matrices), dtype=np.int64) * _SIZE, matrices
    made = op.Scratch(len(firsts) * _SIZE, np.dtype(np.float64))
    prepared = (
        data,
        firsts,
        op.OutputArg(made),
        np.int64(len(firsts)),
        np.bool_(call["pixel_origin"] == "corner"),
        np.bool_(not call["inverse_map"]),
    )
    height = layout.index("H")
    shapes, sizes = source.batch_shape.shapes, target.batch_shape.shapes[:, height : height + 2]
    last = shapes[:, height + 2 :].prod(axis=1)
    planes = shapes[:, height - 1] if layout.endswith("CHW") else np.ones_like(last)
    rows = np.clip(sizes[:, 0], 1, 16)
    stretch = np.minimum(_BLOCK // rows, np.maximum(sizes[:, 1], 1))
    pixels = target.batch_shape.shapes[:, : height + 2].prod(axis=1)
    offsets = [source.batch_shape.offsets, target.batch_shape.offsets]
    narrow = [*shapes[:, height : height + 2].T, *sizes.T, last, planes, pixels, stretch]
    table = op.struct_rows([*offsets, *places.T], narrow)
    blocks = op.blocks_of(np.where(target.batch_shape.volumes, pixels, 0))
    op.refuse_large(target.batch_shape.volumes)
    taps = {0: 1, 1: 2, 2: 4}[int(call["interp_type"])]
    # Four channels are taken at a time, and what remains.
    classic = 1 if source.dtype is op.int16 else 2 if (last % 4 == 2).any() else 0
    classic = classic if taps < 4 else 0
    mode = call["border_mode"]
    text = f"constexpr i32 TAPS = {taps};\nconstexpr i32 CLASSIC = {classic};\n"
    unit = _PIXELS.unit(
        {"Source": op.type_name(source.data.dtype)}, text + border_text(_BORDERS.get(mode, mode))
    )
    return [
        op.Launch(_MATRICES.unit({}), -(-len(firsts) // THREADS), prepared),
        op.Launch(
            unit,
            blocks.total,
            (source.data, op.OutputArg(target.data), made, table, blocks.table, fill),
        ),
    ]
