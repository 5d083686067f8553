"""One image to decode: what to ask the library for, and where its pixels go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradiva.ops.decoders.image_info import Window, stored_window

from .declarations import Output
from .frame import JpegFrame
from .route import Path

WHOLE: Window = (0, 0, -1, -1)
"""The window that stands for no window; its last two numbers ask the library for the same."""

_CHANNELS = {Output.RGBI: 3, Output.BGRI: 3, Output.Y: 1}


def stored_region(
    frame: JpegFrame,
    path: Path,
    output: Output,
    window: Window | None,
    adjust_orientation: bool,
    fancy: bool,
) -> Window:
    """The part of the stored image to decode for a window of the upright one: (top, left, height,
    width), or WHOLE.

    Only the hybrid paths can leave out the rest. Smooth upsampling looks over the window's border,
    and raw planes are cut by our kernel: there the whole image is decoded, so that a window has the
    same bits as the whole image cut.
    """
    info = frame.info
    if window is None or path not in (Path.HYBRID, Path.GPU_HYBRID):
        return WHOLE
    if fancy or output == Output.UNCHANGED:
        return WHOLE
    orientation = info.orientation if adjust_orientation else 1
    region = stored_window(window, info.height, info.width, orientation)
    return WHOLE if region == (0, 0, info.height, info.width) else region


@dataclass(slots=True)
class Job:
    """An image on its way through the library.

    index: its place in the batch. data: the bytes of the file, C-contiguous uint8; they must not
    change, and the decoders hold them until the device is done with them. region: as of
    `stored_region`. keep: whatever must live as long, such as the block that the pixels go to.
    """

    index: int
    data: np.ndarray[Any, Any]
    frame: JpegFrame
    path: Path
    output: Output
    region: Window = WHOLE
    keep: Any = None
    destination: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(8, np.uint64))
    """A row of nvjpegImage_t."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the pixels that the library writes: HWC, or CHW of raw planes."""
        info = self.frame.info
        height, width = (info.height, info.width) if self.region == WHOLE else self.region[2:]
        if self.output == Output.UNCHANGED:
            return info.channels, height, width
        return height, width, _CHANNELS[self.output]

    def write_to(self, address: int) -> None:
        """Have the pixels written there, without gaps."""
        shape, row = self.shape, self.destination
        row[:] = 0
        if self.output == Output.UNCHANGED:
            planes, height, width = shape
            row[:planes] = address + height * width * np.arange(planes, dtype=np.uint64)
            row[4 : 4 + planes] = width
        else:
            row[0], row[4] = address, shape[1] * shape[2]
