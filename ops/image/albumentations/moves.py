"""Where the transforms of Albumentations move the pixels of one image.

Each rule takes the height and the width of an image, the numbers that were drawn for it, and the
settings. It returns a `Move`: the size of the result, the matrix that leads from the image to it,
and the function that makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array, Float64Array

from .settings import Drawn, Settings
from .values import in_parts


@dataclass(frozen=True)
class Move:
    """size: height and width of the result; matrix: (3, 3), of places (x, y, 1) that count from
    the corner of the first pixel; make: the result of an image."""

    size: tuple[int, int]
    matrix: Float64Array
    make: Callable[[Array], Array]


Size = tuple[int, int]
Rule = Callable[[Size, Drawn, Settings], Move]


def matrix_of(*numbers: float) -> Float64Array:
    """A matrix of its first two rows."""
    return np.array([*numbers, 0, 0, 1], np.float64).reshape(3, 3)


def stay(size: Size) -> Move:
    """Nothing moves."""
    return Move(size, np.eye(3), lambda image: image)


# Mirrors and quarter turns.


def _turned(size: Size, quarters: int, transposed: bool = False) -> Move:
    """Quarter turns counter-clockwise, and then rows for columns."""
    height, width = size
    one = {
        0: matrix_of(1, 0, 0, 0, 1, 0),
        1: matrix_of(0, 1, 0, -1, 0, width),
        2: matrix_of(-1, 0, width, 0, -1, height),
        3: matrix_of(0, -1, height, 1, 0, 0),
    }
    matrix, found = one[quarters], size if quarters % 2 == 0 else (width, height)
    if transposed:
        matrix = matrix_of(0, 1, 0, 1, 0, 0) @ matrix
        found = found[1], found[0]

    def make(image: Array) -> Array:
        made = np.rot90(image, quarters)
        return made.swapaxes(0, 1) if transposed else made

    return Move(found, matrix, make)


def _quarters(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return _turned(size, int(drawn[0]))


def _symmetry(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return _turned(size, int(drawn[0]) % 4, drawn[0] >= 4)


def _transpose(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return _turned(size, 0, True)


def _mirror(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return Move(size, matrix_of(-1, 0, size[1], 0, 1, 0), lambda image: image[:, ::-1])


def _upside_down(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return Move(size, matrix_of(1, 0, 0, 0, -1, size[0]), lambda image: image[::-1])


# Sizes.


def resized(size: Size, target: Size, interpolation: int) -> Move:
    """An image of another size."""
    if target == size:
        return stay(size)
    matrix = matrix_of(target[1] / size[1], 0, 0, 0, target[0] / size[0], 0)
    across = target[1], target[0]

    def make(image: Array) -> Array:
        return in_parts(image, lambda part: cv2.resize(part, across, interpolation=interpolation))

    return Move(target, matrix, make)


def _filter(settings: Settings, smaller: bool) -> int:
    """The interpolation, or that of averages where an image becomes smaller."""
    area = smaller and settings["area_for_downscale"] is not None
    return int(cv2.INTER_AREA if area else settings["interpolation"])


def _resize(size: Size, drawn: Drawn, settings: Settings) -> Move:
    target = int(settings["height"]), int(settings["width"])
    smaller = target[0] < size[0] or target[1] < size[1]
    return resized(size, target, _filter(settings, smaller))


def _by_side(choose: Callable[..., float]) -> Rule:
    """To a given size of a side. choose: `max` for the longer, `min` for the shorter one."""
    other = min if choose is max else max

    def rule(size: Size, drawn: Drawn, settings: Settings) -> Move:
        both = settings["max_size_hw"]
        if both is None:
            scale = (drawn[0] if drawn else settings["max_size"]) / choose(size)
        else:
            scale = other(
                side / extent for side, extent in zip(both, size, strict=True) if side is not None
            )
        target = max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
        return resized(size, target, _filter(settings, scale < 1.0))

    return rule


def _random_scale(size: Size, drawn: Drawn, settings: Settings) -> Move:
    scale = drawn[0] + 1.0
    target = int(size[0] * scale), int(size[1] * scale)
    return resized(size, target, _filter(settings, scale < 1.0))


# Windows and borders.


def _fill(fill: Any, image: Array) -> Any:
    """The value outside, for OpenCV."""
    if isinstance(fill, list):
        return fill
    return [fill] * min(4, image.shape[2] if image.ndim == 3 else 1)


def padded(size: Size, pads: tuple[int, ...], settings: Settings) -> Move:
    """With a border. pads: rows above and below, columns left and right."""
    top, bottom, left, right = pads
    if not any(pads):
        return stay(size)
    mode, fill = settings["border_mode"], settings["fill"]

    def make(image: Array) -> Array:
        return in_parts(
            image,
            lambda part: cv2.copyMakeBorder(
                part, top, bottom, left, right, mode, value=_fill(fill, part)
            ),
        )

    target = size[0] + top + bottom, size[1] + left + right
    return Move(target, matrix_of(1, 0, left, 0, 1, top), make)


def _pad(size: Size, drawn: Drawn, settings: Settings) -> Move:
    return padded(size, tuple(int(one) for one in drawn), settings)


def _crop(size: Size, drawn: Drawn, settings: Settings) -> Move:
    left, top, right, bottom, *pads = (int(one) for one in drawn)
    first = padded(size, tuple(pads), settings)
    matrix = matrix_of(1, 0, -left, 0, 1, -top) @ first.matrix
    target = bottom - top, right - left
    return Move(target, matrix, lambda image: first.make(image)[top:bottom, left:right])


def _resized_crop(size: Size, drawn: Drawn, settings: Settings) -> Move:
    window = _crop(size, drawn, settings)
    target = int(settings["size"][0]), int(settings["size"][1])
    smaller = window.size[0] > target[0] or window.size[1] > target[1]
    then = resized(window.size, target, _filter(settings, smaller))
    return Move(target, then.matrix @ window.matrix, lambda image: then.make(window.make(image)))


MOVES: Final[dict[str, Rule]] = {
    "CenterCrop": _crop,
    "Crop": _crop,
    "D4": _symmetry,
    "HorizontalFlip": _mirror,
    "LongestMaxSize": _by_side(max),
    "Pad": _pad,
    "PadIfNeeded": _pad,
    "RandomCrop": _crop,
    "RandomResizedCrop": _resized_crop,
    "RandomRotate90": _quarters,
    "RandomScale": _random_scale,
    "RandomSizedCrop": _resized_crop,
    "Resize": _resize,
    "SmallestMaxSize": _by_side(min),
    "Transpose": _transpose,
    "VerticalFlip": _upside_down,
}
"""The transforms that move whole pixels or change sizes."""
