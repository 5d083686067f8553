"""Decode a window of one encoded image into memory that the caller owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.types.arrays import Array

from .convert import backwards
from .decode import (
    Decoding,
    check_out,
    codec_color,
    decode_into,
    decode_other,
    finish,
    is_direct,
    output_shape,
)
from .decode_jpeg import decode_jpeg
from .image_info import ImageInfo, Window
from .jpeg_window import decode_jpeg_window, fill_jpeg_window, window_at
from .probe import encoded_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _asked(options: Decoding) -> tuple[str, bool, bool]:
    """Output type, whether it is turned upright, whether the inverse DCT is fast; as by default."""
    output_type, turned = options.get("output_type", "RGB"), options.get("adjust_orientation", True)
    return output_type, turned, options.get("use_fast_idct", False)


def decode_region_into(
    data: Array, info: ImageInfo, window: Window, out: Array, **options: Unpack[Decoding]
) -> None:
    """Decode the ``window`` of the image that ``decode_into`` would make, with the same bits.

    The window is in the upright image and must lie in it; ``out`` is (height, width, channels).
    Of JPEG, only what the window needs is decoded, where the file allows it. Of other formats
    everything is; but only the window is turned and converted. Raises ``ValueError``
    as ``decode_into`` does.
    """
    output_type, adjust_orientation, fast_idct = _asked(options)
    shape = output_shape(info, output_type, adjust_orientation)
    top, left, height, width = window
    if top < 0 or left < 0 or top + height > shape[0] or left + width > shape[1]:
        raise ValueError(f"window {window} leaves the image of {shape[0]} x {shape[1]} pixels")
    check_out(out, (height, width, shape[2]))
    if (height, width) == shape[:2]:
        decode_into(data, info, out, **options)
        return
    data = encoded_bytes(data)
    orientation = info.orientation if adjust_orientation else 1
    y, x, h, w = stored_window(window, info.height, info.width, orientation)
    color = codec_color(info, output_type)
    direct = is_direct(info, out.dtype, output_type, adjust_orientation)
    if direct and fill_jpeg_window(data, info, color, (y, x, h, w), fast_idct, out):
        return
    if info.format == "jpeg":
        part = _part_of_jpeg(data, info, color, (y, x, h, w), fast_idct)
    else:
        part = decode_other(data, info, color)[y : y + h, x : x + w]
    finish(part, out, orientation, output_type == "YCbCr", info.maximum)


def _part_of_jpeg(
    data: Array, info: ImageInfo, color: str, window: Window, fast_idct: bool
) -> Array:
    """The window of the stored image."""
    top, left, height, width = window
    if info.channels not in (1, 3):
        image = decode_jpeg(data, info, color, None, fast_idct)
        return image[top : top + height, left : left + width]
    channels = 1 if color == "GRAY" else 3
    # For the whole image, however little is wanted: so that images of one size share it.
    memory = allocate(info.height * info.width * channels, np.dtype(np.uint8))
    first, pitch = decode_jpeg_window(data, info, color, window, fast_idct, memory)
    return window_at(first, pitch, (height, width, channels), memory)


def decode_region_somewhere(
    data: Array, info: ImageInfo, window: Window, memory: Array, **options: Unpack[Decoding]
) -> tuple[int, int]:
    """Like ``decode_region_into``, but leave the window where it comes to lie in ``memory``.

    ``memory`` is 1-D, of the output's dtype, with room for the whole image. Returns the element at
    which the window begins and the elements from one of its rows to the next. Raises as
    ``decode_region_into`` does.
    """
    output_type, adjust_orientation, fast_idct = _asked(options)
    if is_direct(info, memory.dtype, output_type, adjust_orientation):
        color = codec_color(info, output_type)
        return decode_jpeg_window(encoded_bytes(data), info, color, window, fast_idct, memory)
    _, _, height, width = window
    channels = output_shape(info, output_type, adjust_orientation)[2]
    out = memory[: height * width * channels].reshape(height, width, channels)
    decode_region_into(data, info, window, out, **options)
    return 0, width * channels


def stored_window(window: Window, height: int, width: int, orientation: int) -> Window:
    """Where a window of the upright image lies in the stored image of that height and width."""
    y, x, h, w = window
    if orientation >= 5:
        y, x, h, w = x, y, w, h
    rows_backwards, columns_backwards = backwards(orientation)
    if rows_backwards:
        y = height - y - h
    if columns_backwards:
        x = width - x - w
    return y, x, h, w
