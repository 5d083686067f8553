"""The upper rows of a JPEG, without decoding the rows below them.

The frame header of a copy of the file is made to say that the image is lower than it is. The
decoder then stops after these rows, and skips the rest of the data up to the end marker. Rows come
out bit for bit as from the whole file, but for the last ones, whose smooth chroma would look at
rows below: so a few more are decoded than are wanted.

The decoder complains about the bytes that it skips, once it has written all rows. That complaint
is how we know that the rows are good and that the file reaches to its end marker. After any other
one the whole file is decoded, whose rules for damaged files then hold.
"""

from __future__ import annotations

from typing import NamedTuple

from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.image_info import ImageInfo

from .codec import decode_whole, has_simplejpeg
from .cpu import decode_jpeg
from .segments import FRAMES, RESTARTS, SCAN, SEQUENTIAL_FRAMES, segments

_SKIPPED = "extraneous bytes before marker 0xd9"

WORTH = 1 << 12
"""Fewer pixels are decoded sooner than a way is found to leave them out."""


class Frame(NamedTuple):
    """position: of the two bytes of the height; rows: how tall the tallest block of pixels is that
    shares a chroma sample."""

    position: int
    rows: int


def decode_jpeg_rows(
    data: Array, info: ImageInfo, color: str, rows: int, fast_idct: bool, whole: Array
) -> Array:
    """Pixels in stored orientation: the whole image, or its first rows, at least `rows` of them.

    The file has 1 or 3 channels; ``color`` as in ``decode_jpeg``, whose errors it raises. They are
    in ``whole``, uint8 of the whole image's shape.
    """
    frame = shortenable(data.data, info) if _may_be_shortened(info, rows) else None
    if frame is not None:
        height = rows + 2 * frame.rows
        if height <= info.height - info.height // 16:  # else nothing is saved
            upper = whole[:height]
            if _decode_shortened(data, frame.position, color, upper, fast_idct):
                return upper
    return decode_jpeg(data, info, color, whole, fast_idct)


def _may_be_shortened(info: ImageInfo, rows: int) -> bool:
    """Whether enough is saved where so many rows are wanted, and the codec complains at all."""
    is_worth = (info.height - rows) * info.width >= WORTH and info.scale == 1
    return is_worth and has_simplejpeg()


def _decode_shortened(data: Array, position: int, color: str, out: Array, fast_idct: bool) -> bool:
    """Whether `out`, of fewer rows than the image, was filled."""
    copy = allocate(data.size, data.dtype)  # fresh memory costs page faults
    copy[:] = data
    copy[position] = len(out) >> 8
    copy[position + 1] = len(out) & 0xFF
    try:
        decode_whole(copy, color, out, fast_idct)
    except ValueError as error:
        return str(error).endswith(_SKIPPED)
    return True


def shortenable(view: memoryview, info: ImageInfo) -> Frame | None:
    """Where the header says how high the image is, if this file can be decoded in part.

    All of its image data must be one sequential scan: of several scans, each would have to be
    skipped by itself. With restart markers the complaint about skipped bytes has a second meaning.
    """
    frame = None
    try:
        for marker, _, start, _, stray in segments(view):
            if stray >= 0:  # rare
                return None
            if marker == SCAN:
                return frame if view[start] == info.channels else None
            if marker == RESTARTS and (view[start] or view[start + 1]):
                return None
            if marker in FRAMES:
                if frame is not None or marker not in SEQUENTIAL_FRAMES:
                    return None
                heights = [view[start + 7 + 3 * k] & 15 for k in range(info.channels)]
                frame = Frame(start + 1, max(heights))
    except IndexError:
        pass
    return None
