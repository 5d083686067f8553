"""Decode one encoded image into memory that the caller owns."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.convert import OUTPUT_DTYPES, write_oriented, write_range, write_ycbcr
from gradiva.ops.decoders.image_info import ImageInfo, encoded_bytes
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg

from .table import format_of

OUTPUT_TYPES = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")


class Decoding(TypedDict, total=False):
    """What `decode_into` takes by name."""

    output_type: str
    adjust_orientation: bool
    use_fast_idct: bool
    jpeg_fancy_upsampling: bool


def output_shape(
    info: ImageInfo, output_type: str = "RGB", adjust_orientation: bool = True
) -> tuple[int, int, int]:
    """(height, width, channels) of the decoded image."""
    if output_type == "GRAY":
        channels = 1
    elif output_type == "ANY_DATA":
        channels = info.channels
    elif output_type in OUTPUT_TYPES:
        channels = 3
    else:
        raise ValueError(
            f"unknown output_type {output_type!r}: known are {', '.join(OUTPUT_TYPES)}"
        )
    if adjust_orientation and info.orientation >= 5:
        return info.width, info.height, channels
    return info.height, info.width, channels


def decode_into(
    data: Array,
    info: ImageInfo,
    out: Array,
    *,
    output_type: str = "RGB",
    adjust_orientation: bool = True,
    use_fast_idct: bool = False,
    jpeg_fancy_upsampling: bool = False,
) -> None:
    """Decode ``data``, whose header is ``info``, into ``out``.

    ``out`` is a C-contiguous array of ``output_shape(...)``; its dtype is the one asked for (uint8,
    int8, uint16, int16, uint32, int32 or float32) and values are rescaled to the range of that
    type (0..1 for floating point). ``jpeg_fancy_upsampling`` is accepted and changes nothing:
    smooth upsampling is always on, as in DALI on the CPU. Raises ``ValueError`` with the
    reason if the data cannot be decoded; ``out`` then holds nothing of value.
    """
    data = encoded_bytes(data)
    check_out(out, output_shape(info, output_type, adjust_orientation))
    color = codec_color(info, output_type)
    if is_direct(info, out.dtype, output_type, adjust_orientation):
        decode_jpeg(data, info, color, out, use_fast_idct)
        return
    image = format_of(info).decode(data, info, color, use_fast_idct)
    orientation = info.orientation if adjust_orientation else 1
    finish(image, out, orientation, output_type == "YCbCr", info.maximum)


def is_direct(
    info: ImageInfo, dtype: np.dtype[Any], output_type: str, adjust_orientation: bool
) -> bool:
    """Whether the codec's pixels are those of the output, for ``decode_jpeg`` to write there."""
    upright = info.orientation == 1 or not adjust_orientation
    plain = info.is_lossy_jpeg and info.channels != 4 and output_type != "YCbCr"
    return upright and plain and dtype == np.uint8


def codec_color(info: ImageInfo, output_type: str) -> str:
    """What to ask the codec for."""
    if output_type == "YCbCr":
        return "RGB"
    if output_type != "ANY_DATA":
        return output_type
    if info.format == "jpeg":
        return {1: "GRAY", 4: "CMYK"}.get(info.channels, "RGB")
    return "ALL"


def finish(image: Array, out: Array, orientation: int, ycbcr: bool, maximum: int) -> None:
    """Orientation, color space and value range, in that order, each only where needed."""
    if orientation != 1:
        upright = out
        if ycbcr or image.dtype != out.dtype or maximum:
            upright = np.empty((*out.shape[:2], image.shape[2]), image.dtype)
        write_oriented(np.ascontiguousarray(image), upright, orientation)
        image = upright
    if image.shape[2] != out.shape[2]:
        raise ValueError(
            f"data decodes to {image.shape[2]} channels where its header gives {out.shape[2]}"
        )
    if ycbcr:
        write_ycbcr(image, out, maximum)
    elif image is not out:
        write_range(image, out, maximum)


def check_out(out: Array, shape: tuple[int, int, int]) -> None:
    """Refuse memory that the pixels cannot be written to."""
    if out.shape != shape or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous of shape {shape}; it has shape {out.shape}")
    if out.dtype not in OUTPUT_DTYPES:
        raise ValueError(
            "images decode to uint8, int8, uint16, int16, uint32, int32 or float32, not "
            f"{out.dtype}"
        )
