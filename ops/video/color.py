"""From the frame of a video decoder to pixels: `planes_to_rgb`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Int64Array

from .byte_pixels import PIXELS
from .byte_rows import convert_bytes, use_nontemporal_rows
from .chroma_taps import ACROSS, DOUBLED, DOWN, MIXED, chroma_taps, field_taps
from .color_rows import GRAY, RGB, YCBCR, convert_planes
from .colorspaces import check_colorspace, color_numbers, colorspace_of, equations_of
from .pixel_formats import PixelFormat, pixel_format

_FULL_RANGE: Final = 2
_SCALER: Final = 2 | 0x2000 | 0x40000
"""Bilinear, all of the chroma, accurate rounding: what the kernels do, by FFmpeg's scaler."""
_SCALER_NUMBERS: Final = {"bt601": 5, "bt709": 1, "fcc": 4, "smpte240m": 7}


def quarter_turns(frame: Any) -> int:
    """By how many quarters, counter-clockwise, a frame is to be turned to stand upright, as the
    display matrix of its file says: 0 to 3. Angles in between are rounded."""
    degrees: int = frame.rotation
    return round(degrees / 90) % 4


def frame_shape(height: int, width: int, turns: int = 0) -> tuple[int, int, int]:
    """The shape of the pixels of a frame, turned by so many quarters."""
    return (width, height, 3) if turns % 2 else (height, width, 3)


def planes_to_rgb(
    frame: Any,
    out: Array,
    colorspace: str | None = None,
    image_type: op.ImageType = op.ImageType.RGB,
    turns: int = 0,
    past: bool = False,
) -> None:
    """Fill `out` with the pixels of a frame. May be called by several threads at once.

    Args:
        frame: a `VideoFrame` of PyAV. It is only read.
        out: uint8, (H, W, 3); (W, H, 3) with an odd number of `turns`.
        colorspace: "bt601", "bt709", "bt2020", "fcc" or "smpte240m"; None: what the frame is tagged
            as, and BT.601 where it is not. The range of luma is always the one of the tag, limited
            where there is none.
        image_type: RGB, or YCbCr: the planes as they are, in the range they have, with chroma at
            the size of luma, rounded to 8 bits.
        turns: by how many quarters to turn the picture, counter-clockwise; see `quarter_turns`.
        past: what is written has no place in the caches: much more is written before it is read.

    Raises:
        ValueError: for a frame without pixels, or of other colors than there are equations for.
        OperatorValueError: for another `colorspace` or `image_type`.
    """
    if (
        image_type is op.ImageType.RGB
        and not turns
        and _convert_usual(frame, out, colorspace, past)
    ):
        return
    if image_type not in (op.ImageType.RGB, op.ImageType.YCbCr):
        raise op.wrong_value("image_type", "RGB or YCbCr", op.ImageType(image_type).name)
    height, width = frame.height, frame.width
    shape = frame_shape(height, width, turns)
    if out.shape != shape or out.dtype != np.uint8:
        raise ValueError(f"a frame of {shape} does not fit into {out.dtype} {out.shape}")
    if turns % 4 or not out.flags.c_contiguous:
        upright = np.empty((height, width, 3), np.uint8)
        planes_to_rgb(frame, upright, colorspace, image_type)
        out[...] = np.rot90(upright, turns % 4)
        return
    found = pixel_format(frame.format.name)
    luminous = image_type == op.ImageType.YCbCr
    held = frame.planes  # each time that they are asked for, they are made
    if found is None or any(plane.line_size <= 0 for plane in held):
        if frame.format.name.startswith("yuv") and frame.format.name.endswith("be"):
            other = frame.reformat(format=frame.format.name[:-2] + "le")
            planes_to_rgb(other, out, colorspace, image_type)
        else:
            _by_scaler(frame, out, colorspace, luminous)
        return
    full = found.full or int(frame.color_range) == _FULL_RANGE
    numbers = color_numbers("bt601" if luminous else colorspace_of(frame, colorspace), full)
    kind = GRAY if found.gray else YCBCR if luminous else RGB
    if found.gray and luminous:
        out[..., 1:] = 128
        out[..., 0] = _plane(held[0], found).reshape(height, -1)[:, :width]
        return
    across = chroma_taps(width, found.across, ACROSS)
    planes, form = _planes(held, width, found, across.way)
    rows = out.reshape(height, 3 * width)
    window = np.zeros(2, np.int64)
    lines = (height + (1 << found.down) - 1) >> found.down
    if not found.down or lines < 2 or not frame.interlaced_frame:
        down = chroma_taps(height, found.down, DOWN)
        convert_planes(planes, form, across.table, down.table, numbers, window, kind, rows)
        return
    form[:2] *= 2
    for lower in (0, 1):
        part = np.empty((len(rows[lower::2]), 3 * width), np.uint8)
        down = field_taps(len(part), found.down, bool(lower), (lines + 1 - lower) // 2)
        begins = lower * form[:2] // 2
        field = tuple(plane[begin:] for plane, begin in zip(planes, begins[[0, 1, 1]], strict=True))
        convert_planes(field, form, across.table, down.table, numbers, window, kind, part)
        rows[lower::2] = part


class _Usual(NamedTuple):
    """What `convert_bytes` is told of frames that are alike."""

    form: Int64Array
    down: Int64Array
    numbers: Int64Array


def _convert_usual(frame: Any, out: Array, colorspace: str | None, past: bool) -> bool:
    """Whether it is a usual frame, and `out` was filled. All that is the same for many frames is
    looked up: what decoding leaves of the interpreter in the caches is little."""
    held, height, width = frame.planes, frame.height, frame.width
    fits = out.shape == (height, width, 3) and out.dtype == np.uint8 and out.flags.c_contiguous
    if len(held) < 3 or not fits:
        return False
    luma, blue, red = held[:3]  # behind them, how opaque pixels are
    tag = int(frame.colorspace) if colorspace is None else colorspace
    range_tag, pitches = int(frame.color_range), (luma.line_size, blue.line_size)
    name, interlaced = frame.format.name, frame.interlaced_frame
    usual = _usual(name, height, width, pitches, range_tag, tag, interlaced)
    if usual is None:
        return False
    rows = out.reshape(height, 3 * width)
    way = True if past and use_nontemporal_rows(rows) else None
    one, two, three = [np.frombuffer(plane, np.uint8) for plane in (luma, blue, red)]
    convert_bytes(one, two, three, *usual, rows, way)
    return True


@lru_cache(maxsize=64)
def _usual(
    name: str,
    height: int,
    width: int,
    pitches: tuple[int, int],
    range_tag: int,
    tag: int | str,
    interlaced: bool,
) -> _Usual | None:
    """What is known of such frames; None for those that are not usual."""
    found = pixel_format(name)
    if found is None or found.depth != 8 or found.together or width < PIXELS:
        return None
    if interlaced and found.down:
        return None
    across = chroma_taps(width, found.across, ACROSS)
    down = chroma_taps(height, found.down, DOWN)
    short = pitches[0] < width or pitches[1] < (width + 1) // 2
    if short or across.way != DOUBLED or down.way == MIXED:
        return None
    if isinstance(tag, str):
        check_colorspace(tag)
    colors = tag if isinstance(tag, str) else equations_of(tag)
    numbers = color_numbers(colors, found.full or range_tag == _FULL_RANGE)
    return _Usual(np.array(pitches, np.int64), down.table, numbers)


def _plane(plane: Any, found: PixelFormat) -> Array:
    """The rows of a plane, end to end, with what pads them."""
    words: Array = np.frombuffer(plane, np.uint8 if found.depth == 8 else np.dtype("<u2"))
    item = words.itemsize
    return words[: plane.height * plane.line_size // item]


def _planes(held: Any, width: int, found: PixelFormat, way: int) -> tuple[Any, Int64Array]:
    """Luma, blue and red chroma, and what the kernels have to know of them."""
    luma, *others = held
    item = 1 if found.depth == 8 else 2
    first = _plane(luma, found)
    if found.gray:
        blue = red = first
        chroma = luma
    elif found.together:
        chroma = others[0]
        both = _plane(chroma, found)
        blue, red = (both[1:], both) if found.red_first else (both, both[1:])
    else:
        chroma = others[0]
        blue, red = _plane(chroma, found), _plane(others[1], found)
    count = (width + (1 << found.across) - 1) >> found.across
    step = 2 if found.together else 1
    if luma.line_size < width * item or chroma.line_size < (
        0 if found.gray else count * step * item
    ):
        raise ValueError("the rows of this frame are shorter than it is wide")
    form = (
        luma.line_size // item,
        chroma.line_size // item,
        step,
        count,
        found.depth,
        found.drop,
        way,
    )
    return (first, blue, red), np.array(form, np.int64)


def _by_scaler(frame: Any, out: Array, colorspace: str | None, luminous: bool) -> None:
    """Formats that the kernels do not take, by FFmpeg's scaler, with the same arithmetic."""
    options: dict[str, Any] = {"interpolation": _SCALER}
    if luminous:
        raise ValueError(f"YCbCr cannot be made of frames of {frame.format.name}")
    if frame.format.name.startswith("yuv"):
        chosen = colorspace_of(frame, colorspace)
        if chosen in _SCALER_NUMBERS:
            options["src_colorspace"] = _SCALER_NUMBERS[chosen]
    made = frame.reformat(format="rgb24", **options).planes[0]
    rows: Array = np.frombuffer(made, np.uint8).reshape(made.height, made.line_size)
    out[...] = rows[:, : 3 * frame.width].reshape(out.shape)
