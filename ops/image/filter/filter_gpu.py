"""`filter` on the GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .borders import border_named, border_text

_KERNEL = op.CudaKernel(
    "filter", (None, *(Path(__file__).with_name(f"{name}.cuh") for name in ("borders", "filter")))
)
_EVEN: Final = (op.uint8, op.uint16, op.int16)
"""Types whose 2-D sums OpenCV rounds."""


def filter_launch(call: op.Call, first: int, anchors: op.Int64Array) -> op.Launch:
    """first: the first axis that is filtered; anchors: (N, axes)."""
    source, windows, target = call.inputs[0], call.inputs[1], call.outputs[0]
    axes = windows.batch_shape.ndim
    op.refuse_large(source.batch_shape.volumes)
    narrow = np.ones((call.size, 14), np.int64)
    own = windows.batch_shape.shapes
    valid = call["mode"] == "valid"
    parts = (
        source.batch_shape.shapes[:, first : first + axes],
        target.batch_shape.shapes[:, first : first + axes],
        own,
        np.zeros_like(own) if valid else np.where(anchors < 0, own // 2, anchors),
    )
    narrow[:, 9:12] = 0
    for k, part in enumerate(parts):
        narrow[:, 3 * k + 3 - axes : 3 * k + 3] = part
    narrow[:, 12] = target.batch_shape.shapes[:, first + axes :].prod(axis=1)
    narrow[:, 13] = target.batch_shape.volumes
    fill: Any = np.zeros(1, np.uint8)
    fills = np.zeros_like(source.batch_shape.offsets)
    if len(call.inputs) > 2:
        fill, fills = call.inputs[2].data, call.inputs[2].batch_shape.offsets
    offsets = [one.batch_shape.offsets for one in (source, target, windows)]
    table = op.struct_rows([*offsets, fills], [*narrow.T])
    blocks = op.blocks_of(target.batch_shape.volumes)
    types = {
        "Source": op.type_name(source.data.dtype),
        "Target": op.type_name(target.data.dtype),
        "Fill": op.type_name(fill.dtype),
    }
    even = axes == 2 and source.dtype is target.dtype and source.dtype in _EVEN
    text = (
        f"constexpr bool EVEN = {str(even).lower()};\n{border_text(border_named(call['border']))}"
    )
    arguments = (source.data, op.OutputArg(target.data), windows.data, fill, table, blocks.table)
    return op.Launch(_KERNEL.unit(types, text), blocks.total, arguments)
