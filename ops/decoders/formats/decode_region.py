"""Decode a window of one encoded image into memory that the caller owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.image_info import ImageInfo, Window, encoded_bytes, stored_window
from gradiva.ops.decoders.jpeg.window import decode_jpeg_window, fill_jpeg_window

from .decode import Decoding, check_out, codec_color, decode_into, finish, is_direct, output_shape
from .table import format_of

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
    kind = format_of(info)
    if kind.decode_window is None:
        part = kind.decode(data, info, color, fast_idct)[y : y + h, x : x + w]
    else:
        part = kind.decode_window(data, info, color, fast_idct, (y, x, h, w))
    finish(part, out, orientation, output_type == "YCbCr", info.maximum)


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
