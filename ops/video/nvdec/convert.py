"""The launch that turns a decoded frame on a GPU into pixels: the bits of `planes_to_rgb`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.video.chroma_taps import ACROSS, DOWN, chroma_taps

_KERNEL: Final = op.CudaKernel("planes", (Path(__file__).with_name("planes.cuh"),), registers=64)


class Planes(NamedTuple):
    """A frame in NV12 or P016. luma, chroma: 1-D arrays, uint8 or uint16, from the first sample on.

    pitch, chroma_pitch: samples from one row to the next; height, width: of the picture; depth,
    drop: bits of a sample, and bits below them in its word.
    """

    luma: Any
    chroma: Any
    pitch: int
    chroma_pitch: int
    height: int
    width: int
    depth: int
    drop: int


def planes_launch(
    planes: Planes, numbers: op.Int64Array, turns: int, target: Any, places: op.Int64Array
) -> op.Launch:
    """The launch that makes RGB of a frame.

    numbers: of `color_numbers`; turns: by how many quarters, counter-clockwise; target: a uint8
    array; places: the elements of it at which the picture begins, once for each.
    """
    height, width = planes.height, planes.width
    form = np.array(
        [
            planes.pitch,
            planes.chroma_pitch,
            height,
            width,
            (width + 1) // 2,
            planes.depth,
            planes.drop,
            turns % 4,
        ],
        np.int64,
    )
    across = chroma_taps(width, 1, ACROSS).table
    down = chroma_taps(height, 1, DOWN).table
    blocks = op.blocks_of(np.full(len(places), height * width, np.int64))
    unit = _KERNEL.unit({"Sample": op.type_name(planes.luma.dtype)})
    tables = np.asarray(places, np.int64), blocks.table, form, across, down, numbers
    arguments = (planes.luma, planes.chroma, op.OutputArg(target), *tables)
    return op.Launch(unit, blocks.total, arguments)
