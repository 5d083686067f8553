"""What readers make of decoded frames: another color space, another size, another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.execute import execute
from gradiva.eager.operators.operator import operators
from gradiva.ops.arrays.cast import cast
from gradiva.ops.image.color.color_space_conversion import color_space_conversion
from gradiva.ops.image.resize.resize import resize
from gradiva.ops.readers.core.table import column

from .video_table import Finish


def finisher(
    image_type: Any,
    dtype: op.DType = op.uint8,
    normalized: bool = False,
    resized: Mapping[str, Any] | None = None,
) -> Finish | None:
    """What turns uint8 RGB frames into what is asked for; None where that is what they are.

    normalized: floats from 0 to 1. resized: arguments of `resize`.
    """
    converts = op.ImageType(image_type) != op.ImageType.RGB
    floats = dtype == op.float32
    if not converts and not floats and resized is None:
        return None

    def finish(frames: op.Batch, pool: op.WorkerPool) -> op.Batch:
        size, device = len(frames), frames.device
        if converts:
            colors = {"image_type": op.ImageType.RGB, "output_type": op.ImageType(image_type)}
            (frames,) = execute(
                color_space_conversion, (frames,), colors, size, pool, device=device
            )
        if floats:
            (frames,) = execute(cast, (frames,), {"dtype": op.float32}, size, pool, device=device)
        if normalized:
            levels = column(np.full(size, 255), (), op.float32)
            (frames,) = execute(operators["fdiv"], (frames, levels), {}, size, pool, device=device)
        if resized is not None:
            (frames,) = execute(resize, (frames,), resized, size, pool, device=device)
        return frames

    return finish
