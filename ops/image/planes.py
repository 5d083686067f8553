"""Images as planes: which layouts have rows and columns, and where these and the channels are."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Int64Array

from .crop_window import LAYOUTS, fill_array

PLANES: Final = (*LAYOUTS, "HW", "DHW", "FHW")
"""Layouts in which rows and columns stand beside each other, and at most channels behind them."""
_ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}


def plane_layout(input: op.SampleType) -> str | None:
    """The layout of images, HW, HWC or FHWC by rank if they have none. Raises OperatorTypeError."""
    return op.require_layout(input, PLANES, _ASSUMED)


def planes_of(shapes: Int64Array, layout: str) -> Int64Array:
    """(N, 4): how many planes each sample has, their height and width, and the channels that lie
    together in a pixel, 1 where planes are of one channel."""
    rows = layout.index("H")
    planes = np.empty((len(shapes), 4), np.int64)
    planes[:, 0] = shapes[:, :rows].prod(axis=1)
    planes[:, 1:3] = shapes[:, rows : rows + 2]
    planes[:, 3] = shapes[:, rows + 2 :].prod(axis=1)
    return planes


def channels_of(shapes: Int64Array, layout: str) -> Int64Array:
    """(N, 2): the channels of each sample, and how many planes one after the other are of one
    channel."""
    channels = np.ones((len(shapes), 2), np.int64)
    place = layout.find("C")
    if place >= 0:
        channels[:, 0] = shapes[:, place]
        if place < layout.index("H"):
            channels[:, 1] = shapes[:, place + 1 : layout.index("H")].prod(axis=1)
    return channels


def check_same_stacks(shapes: Int64Array, partners: Int64Array, layout: str) -> None:
    """Refuse samples that have other channels or frames than one of their partners, (N, P). Raises
    OperatorValueError."""
    others = [axis for axis, letter in enumerate(layout) if letter not in "HW"]
    bad = (shapes[:, None, others] != shapes[partners][:, :, others]).any(axis=(1, 2))
    op.refuse_samples(
        bad,
        "",
        lambda sample: " and ".join(str(tuple(row)) for row in shapes[partners[sample]].tolist()),
        shapes,
        f"samples that are mixed differ in height and width at most, in layout {layout!r}",
    )


def fill_bits(values: Array, dtype: op.DType, channels: Int64Array | None) -> Array:
    """(N, 1) or (N, channels): fill values cast to a dtype as in C, as unsigned bits. values: one
    for each sample, or one for each of its `channels`, (N,), if the layout has such an axis. Raises
    OperatorValueError."""
    count = values.shape[1]
    if not count:
        values = np.zeros((len(values), 1), np.float32)
    if count > 1 and (channels is None or (channels != count).any()):
        many = "; there is no channel axis in the layout"
        if channels is not None:
            many = f", or one for each of {channels[channels != count][0]} channels"
        raise op.wrong_value("fill_value", f"1 value{many}", count)
    wide = np.dtype(np.float32) if dtype is op.float16 else dtype.numpy
    fill = fill_array(values, wide).astype(dtype.numpy, copy=False)
    return np.ascontiguousarray(fill).view(f"u{dtype.itemsize}")
