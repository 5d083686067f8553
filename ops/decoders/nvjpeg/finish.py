"""The launch that finishes decoded JPEGs: window, orientation, colors, values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.formats.convert import backwards, write_range, ycbcr_weights
from gradiva.ops.decoders.formats.decode_region import stored_window
from gradiva.ops.decoders.formats.image_info import Window

from .declarations import Output
from .job import WHOLE, Job

_KERNEL: Final = op.CudaKernel("finish", (Path(__file__).with_name("finish.cuh"),), registers=48)
_FROM_YCCK, _INVERTED, _TO_RGB = 1, 2, 4
_COLORS: Final = {"BGR": 1, "GRAY": 2, "YCbCr": 3}
_PICTURE: Final = np.dtype(
    [(name, np.int64) for name in ("source", "target", "row", "column", "plane")]
    + [(name, np.uint32) for name in ("width", "pixels", "channels", "made", "inks", "color")]
)
"""The struct `Picture` of finish.cuh."""


def window_of(job: Job, window: Window | None, turned: bool) -> Window:
    """The part of the stored image that the result is made of: `window` is of the upright one."""
    info = job.frame.info
    if window is None:
        return 0, 0, info.height, info.width
    return stored_window(window, info.height, info.width, info.orientation if turned else 1)


def is_finished(job: Job, part: Window, output_type: str, dtype: np.dtype[Any]) -> bool:
    """Whether the library's pixels are those of the result, for it to write there. part: as of
    `window_of`, of an image that need not be turned."""
    info = job.frame.info
    whole = (0, 0, info.height, info.width) if job.region == WHOLE else job.region
    plain = job.output != Output.UNCHANGED and output_type != "YCbCr"
    return plain and whole == part and dtype == np.uint8


def finish_launch(
    jobs: Sequence[tuple[Job, int, Window]],
    scratch: Any,
    target: op.Batch,
    output_type: str,
    adjust_orientation: bool,
) -> op.Launch:
    """The launch that makes samples of `target` of what the library wrote.

    jobs: each with the byte of `scratch`, a uint8 array, at which its pixels begin, and its part,
    as of `window_of`.
    """
    rows = np.zeros(len(jobs), _PICTURE)
    shapes, offsets = target.batch_shape.shapes, target.batch_shape.offsets
    for number, (job, start, part) in enumerate(jobs):
        source, row, column, plane, channels = _place(job, part, adjust_orientation)
        inks, color = _color(job, output_type)
        height, width, made = shapes[job.index]
        places = start + source, offsets[job.index], row, column, plane
        rows[number] = (*places, width, height * width, channels, made, inks, color)
    dtype = target.data.dtype
    unit = _KERNEL.unit({"Target": op.type_name(dtype)})
    blocks = op.blocks_of(rows["pixels"].astype(np.int64))
    tables = _values(dtype), ycbcr_weights(255.0, dtype)
    return op.Launch(
        unit, blocks.total, (scratch, op.OutputArg(target.data), rows, blocks.table, *tables)
    )


def _place(job: Job, part: Window, turned: bool) -> tuple[int, int, int, int, int]:
    """(first byte, bytes to the next upright row, column, to the next channel, channels)."""
    if job.output == Output.UNCHANGED:
        channels, rows, width = job.shape
        pixel, plane = 1, rows * width
    else:
        _, width, channels = job.shape
        pixel, plane = channels, 1
    top, left, height, across = part
    if job.region != WHOLE:
        top, left = top - job.region[0], left - job.region[1]
    orientation, row, column = job.frame.info.orientation if turned else 1, width * pixel, pixel
    rows_backwards, columns_backwards = backwards(orientation)
    if rows_backwards:
        top, row = top + height - 1, -row
    if columns_backwards:
        left, column = left + across - 1, -column
    first = top * width * pixel + left * pixel
    return (
        (first, column, row, plane, channels)
        if orientation >= 5
        else (first, row, column, plane, channels)
    )


def _color(job: Job, output_type: str) -> tuple[int, int]:
    """What the kernel does to inks, and to RGB."""
    if job.output != Output.UNCHANGED:
        return 0, _COLORS["YCbCr"] if output_type == "YCbCr" else 0
    info, inks = job.frame.info, 0
    if info.channels == 4:
        keeps = output_type == "ANY_DATA"
        inks = _FROM_YCCK if info.color == "ycck" else 0
        # The CPU's rule: `cmyk` stores 0 for no ink, the others 255, which RGB is made of.
        inks |= _INVERTED if (info.color != "cmyk") == keeps else 0
        inks |= 0 if keeps else _TO_RGB
    return inks, _COLORS.get(output_type, 0)


@lru_cache(maxsize=8)
def _values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """(256,): what each value of a byte becomes, as on the CPU."""
    made = np.empty((256, 1, 1), dtype)
    write_range(np.arange(256, dtype=np.uint8).reshape(256, 1, 1), made)
    return made.ravel()
