"""`experimental.dilate` and `experimental.erode` on the GPU: one launch along each axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .blur_windows import extents_of
from .borders import border_text
from .morphology import BORDER_NAMES, masks_of

_GROW: Final = op.CudaKernel(
    "dilate_erode",
    (None, *(Path(__file__).with_name(f"{name}.cuh") for name in ("borders", "dilate_erode"))),
)


def dilate_erode_launches(call: op.Call, highest: bool) -> list[op.Launch]:
    """Across, then down, as often as it is asked for."""
    source, target = call.inputs[0], call.outputs[0]
    op.refuse_large(source.batch_shape.volumes)
    border = BORDER_NAMES[call["border_mode"]]
    before, after, outside = masks_of(call, highest)
    extents, _ = extents_of(target.layout, source.batch_shape.shapes)
    most = extents[:, [3, 2]]
    # Each time pixels come from farther away, or nothing changes any more.
    times = min(call["iterations"], max(int(most.max(initial=0)), 1))
    if border in ("constant", "clamp", "wrap"):
        # Several times are once with larger masks; every pixel is within twice the extent.
        before, after = (np.minimum(reach * times, 2 * most) for reach in (before, after))
        times = min(times, 1)
    blocks = op.blocks_of(target.batch_shape.volumes)
    text = f"{border_text(border)}constexpr bool HIGHEST = {str(highest).lower()};\n"
    unit = _GROW.unit({"Source": op.type_name(source.data.dtype)}, text)
    between = [op.Scratch(target.batch_shape.size, source.dtype.numpy) for _ in range(2)]
    data: Any = source.data
    first = source.batch_shape.offsets
    # Without iterations pixels are copied, by a window of one.
    steps = [axis for _ in range(times) for axis in (0, 1)] or [0]
    reach = (before, after) if times else (before * 0, after * 0)
    launches = []
    for number, axis in enumerate(steps):
        written = target.data if number == len(steps) - 1 else between[number % 2]
        inner = extents[:, 4 - axis :].prod(axis=1)
        sides = [side[:, axis] for side in reach]
        narrow = [extents.prod(axis=1), extents[:, 3 - axis], inner, *sides, inner]
        table = op.struct_rows([first, target.batch_shape.offsets], narrow)
        launches.append(
            op.Launch(
                unit, blocks.total, (data, op.OutputArg(written), table, blocks.table, outside)
            )
        )
        data, first = written, target.batch_shape.offsets
    return launches
