"""What the transforms that move pixels draw for a sample; see `drawn_colors.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from gradiva.eager import extension as op

from .drawn_colors import Rule, Size, nothing, ranges
from .numbers import Numbers
from .settings import Settings

Four = tuple[int, int, int, int]


def _random_turn(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return [numbers.integer(0, 3)]


def _symmetry(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return [numbers.integer(0, 7)]


def _side(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    """One of several sizes of the shorter or the longer side."""
    sides = settings["max_size"]
    return [sides[numbers.integer(0, len(sides) - 1)]] if isinstance(sides, list) else []


def padding(size: int, least: int | None, divisor: int | None) -> tuple[int, int]:
    """How many pixels are put before and behind."""
    if least is not None:
        missing = max(0, least - size)
    else:
        missing = -size % divisor if divisor else 0
    return missing // 2, missing - missing // 2


def _placed(numbers: Numbers, before: tuple[int, int], after: tuple[int, int], where: str) -> Four:
    """Rows above and below, and columns left and right, for the place of the image."""
    down, across = before[0] + after[0], before[1] + after[1]
    if where == "center":
        return before[0], after[0], before[1], after[1]
    if where == "random":
        top, left = numbers.integer(0, down), numbers.integer(0, across)
        return top, down - top, left, across - left
    top = down if where.startswith("bottom") else 0
    left = across if where.endswith("right") else 0
    return top, down - top, left, across - left


def _pad_if_needed(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    rows = padding(size[0], settings["min_height"], settings["pad_height_divisor"])
    columns = padding(size[1], settings["min_width"], settings["pad_width_divisor"])
    before, after = (rows[0], columns[0]), (rows[1], columns[1])
    return _placed(numbers, before, after, settings["position"])


def _pad(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    given: Any = settings["padding"]
    if not isinstance(given, list):
        return [given] * 4
    left, top, right, bottom = given if len(given) == 4 else (*given, *given)
    return [top, bottom, left, right]


def _window(numbers: Numbers, size: Size, crop: tuple[int, int]) -> list[float]:
    """Left, top, right and bottom of a window anywhere in the image."""
    height, width = min(crop[0], size[0]), min(crop[1], size[1])
    top, left = numbers.integer(0, size[0] - height), numbers.integer(0, size[1] - width)
    return [left, top, left + width, top + height]


def _pads(numbers: Numbers, size: Size, settings: Settings) -> Four:
    """The padding that makes an image as large as its window. Raises OperatorValueError where the
    image is too small and is not padded."""
    crop = settings["height"], settings["width"]
    if not settings["pad_if_needed"]:
        if crop[0] > size[0] or crop[1] > size[1]:
            raise op.OperatorValueError(
                "the window is larger than the image",
                expected=f"at least {crop[0]} x {crop[1]} pixels",
                got=f"{size[0]} x {size[1]}",
            )
        return 0, 0, 0, 0
    rows, columns = padding(size[0], crop[0], None), padding(size[1], crop[1], None)
    if rows == columns == (0, 0):
        return 0, 0, 0, 0
    where = settings["pad_position"]
    return _placed(numbers, (rows[0], columns[0]), (rows[1], columns[1]), where)


def _random_crop(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    pads = _pads(numbers, size, settings)
    padded = size[0] + pads[0] + pads[1], size[1] + pads[2] + pads[3], size[2]
    return [*_window(numbers, padded, (settings["height"], settings["width"])), *pads]


def _center_crop(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    pads = _pads(numbers, size, settings)
    height, width = settings["height"], settings["width"]
    top = (size[0] + pads[0] + pads[1] - height) // 2
    left = (size[1] + pads[2] + pads[3] - width) // 2
    return [left, top, left + width, top + height, *pads]


def _crop(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    left, top, right, bottom = (settings[name] for name in ("x_min", "y_min", "x_max", "y_max"))
    pads = 0, 0, 0, 0
    below, beside = max(0, bottom - size[0]), max(0, right - size[1])
    if below or beside:
        if not settings["pad_if_needed"]:
            raise op.OperatorValueError(
                "the window leaves the image",
                expected=f"at least {bottom} x {right} pixels",
                got=f"{size[0]} x {size[1]}",
            )
        before, after = (below // 2, beside // 2), (below - below // 2, beside - beside // 2)
        found = _placed(numbers, before, after, settings["pad_position"])
        pads = found[0], max(found[1], below), found[2], max(found[3], beside)
    return [left, top, right, bottom, *pads]


def _random_sized_crop(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    height = numbers.integer(*settings["min_max_height"])
    return [*_window(numbers, size, (height, int(height * settings["w2h_ratio"]))), 0, 0, 0, 0]


def _random_resized_crop(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    height, width, _ = size
    least, most = (part * height * width for part in settings["scale"])
    low, high = settings["ratio"]
    for _attempt in range(10):
        area, ratio = numbers.uniform(least, most), numbers.log_uniform(low, high)
        wide, tall = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < tall <= height:
            return [*_window(numbers, size, (tall, wide)), 0, 0, 0, 0]
    wide, tall = width, height
    if width / height < low:
        tall = round(width / low)
    elif width / height > high:
        wide = round(height * high)
    left, top = (width - wide) // 2, (height - tall) // 2
    return [left, top, left + wide, top + tall, 0, 0, 0, 0]


def _translation(numbers: Numbers, size: Size, settings: Settings) -> tuple[int, int]:
    pixels, parts = settings["translate_px"], settings["translate_percent"]
    if parts is not None:
        x, y = (numbers.uniform(*parts[axis]) for axis in "xy")
        return int(x * size[1]), int(y * size[0])
    if pixels is None:
        return 0, 0
    return (
        numbers.integer(*(int(end) for end in pixels["x"])),
        numbers.integer(*(int(end) for end in pixels["y"])),
    )


def _scale(numbers: Numbers, limits: Sequence[float], balanced: bool) -> float:
    low, high = limits
    if not balanced:
        return numbers.uniform(low, high)
    sides = [(low, 1.0)] * (low < 1) + [(1.0, high)] * (high > 1)
    if not sides:
        return 1.0
    return numbers.uniform(*sides[numbers.integer(0, len(sides) - 1)])


def _affine(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    """Shift along x and y in pixels, shear and scale along x and y, and degrees."""
    x, y = _translation(numbers, size, settings)
    shear = [-numbers.uniform(*settings["shear"][axis]) for axis in "xy"]
    balanced = settings["balanced_scale"]
    scale = [_scale(numbers, settings["scale"][axis], balanced) for axis in "xy"]
    if settings["keep_ratio"]:
        scale[1] = scale[0]
    return [x, y, *shear, *scale, numbers.uniform(*settings["rotate"])]


def _perspective(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    """Four points (x, y), as parts of the image, one in each corner."""
    scale = numbers.uniform(*settings["scale"])
    parts = [math.fmod(abs(numbers.normal(0.0, scale)), 0.32) for _ in range(8)]
    for place in (2, 4, 5, 7):
        parts[place] = 1.0 - parts[place]
    return parts


PLACES: Final[dict[str, Rule]] = {
    "Affine": _affine,
    "CenterCrop": _center_crop,
    "Crop": _crop,
    "D4": _symmetry,
    "HorizontalFlip": nothing,
    "LongestMaxSize": _side,
    "Pad": _pad,
    "PadIfNeeded": _pad_if_needed,
    "Perspective": _perspective,
    "RandomCrop": _random_crop,
    "RandomResizedCrop": _random_resized_crop,
    "RandomRotate90": _random_turn,
    "RandomScale": ranges("scale_limit"),
    "RandomSizedCrop": _random_sized_crop,
    "Resize": nothing,
    "Rotate": ranges("limit"),
    "SafeRotate": ranges("limit"),
    "ShiftScaleRotate": _affine,
    "SmallestMaxSize": _side,
    "Transpose": nothing,
    "VerticalFlip": nothing,
}
"""The transforms that move pixels."""
