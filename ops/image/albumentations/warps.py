"""The rotations and warps of Albumentations; see `moves.py`."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array, Float64Array

from .moves import Move, Rule, Size, matrix_of, stay
from .settings import Drawn, Settings
from .values import channels, in_parts


def _from_centers(matrix: Float64Array) -> Float64Array:
    """A matrix of places that count from centers of pixels, for places from corners."""
    half = matrix_of(1, 0, 0.5, 0, 1, 0.5)
    return half @ matrix @ matrix_of(1, 0, -0.5, 0, 1, -0.5)


def _affine_matrix(drawn: Drawn, middle: tuple[float, float]) -> Float64Array:
    """Scale, then turn, then shear, about the middle, and then a shift; of pixels' centers."""
    x, y, shear_x, shear_y, scale_x, scale_y, degrees = drawn
    angle = np.deg2rad(degrees % 360)
    cosine, sine = np.cos(angle), np.sin(angle)
    tangent_x, tangent_y = np.tan(np.deg2rad(shear_x)), np.tan(np.deg2rad(shear_y))
    parts = (
        matrix_of(1, 0, middle[0], 0, 1, middle[1]),
        matrix_of(1, 0, x, 0, 1, y),
        matrix_of(1, tangent_x, 0, tangent_y, 1, 0),
        matrix_of(cosine, sine, 0, -sine, cosine, 0),
        matrix_of(scale_x, 0, 0, 0, scale_y, 0),
        matrix_of(1, 0, -middle[0], 0, 1, -middle[1]),
    )
    made = parts[0]
    for part in parts[1:]:
        made = made @ part
    made[2] = [0, 0, 1]
    return made


def _warped(size: Size, target: Size, matrix: Float64Array, settings: Settings) -> Move:
    """By an affine matrix of pixels' centers."""
    if np.allclose(matrix, np.eye(3)):
        # Then the image stays as it is, whatever the size was to be.
        return stay(size)
    fill, mode, filter = settings["fill"], settings["border_mode"], settings["interpolation"]

    def warp(part: Array) -> Array:
        part = _reflectable(part, mode)
        value = fill if isinstance(fill, list) else [fill] * channels(part)
        made: Array = cv2.warpAffine(
            part, matrix[:2], target[::-1], flags=filter, borderMode=mode, borderValue=value
        )
        return made

    return Move(target, _from_centers(matrix), lambda image: in_parts(image, warp))


def _reflectable(image: Array, mode: int) -> Array:
    """The image, where it has one row or one column twice if it is reflected without its edge:
    OpenCV 5 does not return from a warp of such an image. The result is the same."""
    if mode != cv2.BORDER_REFLECT_101 or 1 not in image.shape[:2]:
        return image
    rows, columns = (2 if side == 1 else 1 for side in image.shape[:2])
    return np.ascontiguousarray(image.repeat(rows, axis=0).repeat(columns, axis=1))


def _middle(size: Size) -> tuple[float, float]:
    return size[1] / 2 - 0.5, size[0] / 2 - 0.5


def _affine(size: Size, drawn: Drawn, settings: Settings) -> Move:
    matrix, target = _affine_matrix(drawn, _middle(size)), size
    if settings["fit_output"]:
        height, width = size
        corners = np.array([[0, 0, 1], [width, 0, 1], [width, height, 1], [0, height, 1]])
        places = (corners @ matrix.T)[:, :2]
        low = np.floor(places.min(axis=0)).astype(int)
        high = np.ceil(places.max(axis=0)).astype(int)
        target = int(high[1] - low[1] + 1), int(high[0] - low[0] + 1)
        matrix = matrix_of(1, 0, -low[0], 0, 1, -low[1]) @ matrix
    return _warped(size, target, matrix, settings)


def _inner_window(size: Size, degrees: float) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the largest upright rectangle inside of a turned image."""
    height, width = size
    angle = math.radians(degrees)
    long, short = max(size), min(size)
    sine, cosine = abs(math.sin(angle)), abs(math.cos(angle))
    if short <= 2.0 * sine * cosine * long or abs(sine - cosine) < 1e-10:
        half = 0.5 * short
        wide, tall = half / sine, half / cosine
        if width < height:
            wide, tall = half / cosine, half / sine
    else:
        twice = cosine * cosine - sine * sine
        wide = (width * cosine - height * sine) / twice
        tall = (height * cosine - width * sine) / twice
    left, right = max(0, int(width / 2 - wide / 2)), min(width, int(width / 2 + wide / 2))
    top, bottom = max(0, int(height / 2 - tall / 2)), min(height, int(height / 2 + tall / 2))
    return left, top, right, bottom


def _rotate(size: Size, drawn: Drawn, settings: Settings) -> Move:
    matrix = _affine_matrix([0, 0, 0, 0, 1, 1, drawn[0]], _middle(size))
    whole = _warped(size, size, matrix, settings)
    if not settings["crop_border"]:
        return whole
    left, top, right, bottom = _inner_window(size, drawn[0])
    matrix = matrix_of(1, 0, -left, 0, 1, -top) @ whole.matrix
    target = bottom - top, right - left
    return Move(target, matrix, lambda image: whole.make(image)[top:bottom, left:right])


def _safe_rotate(size: Size, drawn: Drawn, settings: Settings) -> Move:
    height, width = size
    middle = _middle(size)
    turn: Any = cv2.getRotationMatrix2D(middle, drawn[0], 1.0)
    cosine, sine = abs(turn[0, 0]), abs(turn[0, 1])
    wide, tall = int(height * sine + width * cosine), int(height * cosine + width * sine)
    turn[0, 2] += wide / 2 - middle[0]
    turn[1, 2] += tall / 2 - middle[1]
    scale = matrix_of(width / wide, 0, 0, 0, height / tall, 0)
    return _warped(size, size, scale @ np.vstack([turn, [0, 0, 1]]), settings)


def _ordered(points: Float64Array) -> Array:
    """Upper left, upper right, lower right, lower left."""
    by_x: Any = np.array(sorted(points, key=lambda point: float(point[0])))
    (one, two), (three, four) = by_x[:2], by_x[2:]
    upper_left, lower_left = (one, two) if one[1] < two[1] else (two, one)
    upper_right, lower_right = (three, four) if three[1] < four[1] else (four, three)
    return np.array([upper_left, upper_right, lower_right, lower_left], np.float32)


def _distance(one: Array, two: Array) -> float:
    """Between two points; at least 2, to which they are moved."""
    size = float(np.sqrt(np.sum((one - two) ** 2)))
    if size >= 2:
        return size
    step = (2 - size) / 2
    one[one > two] += step
    two[one > two] -= step
    one[one <= two] -= step
    two[one <= two] += step
    return 2.0


def _corners(size: Size) -> Array:
    height, width = size
    return np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)


def _perspective(size: Size, drawn: Drawn, settings: Settings) -> Move:
    points = _ordered(np.array(drawn).reshape(4, 2) * [size[1], size[0]])
    first, second, third, fourth = points
    wide = int(max(_distance(second, first), _distance(third, fourth)))
    tall = int(max(_distance(third, second), _distance(fourth, first)))
    matrix: Any = cv2.getPerspectiveTransform(points, _corners(size))
    if settings["fit_output"]:
        moved: Any = cv2.perspectiveTransform(_corners(size)[None], matrix)[0]
        moved = np.around(moved - moved.min(axis=0, keepdims=True), decimals=0)
        matrix = cv2.getPerspectiveTransform(_corners(size), moved)
        wide, tall = (int(one) for one in moved.max(axis=0))
    target = tall, wide
    if settings["keep_size"]:
        target = size
        matrix = np.dot(matrix_of(size[1] / wide, 0, 0, 0, size[0] / tall, 0), matrix)
    fill, mode, filter = settings["fill"], settings["border_mode"], settings["interpolation"]

    def warp(part: Array) -> Array:
        part = _reflectable(part, mode)
        # A single number is the fill value of the first channel only, as it is there.
        made: Array = cv2.warpPerspective(
            part, matrix, target[::-1], flags=filter, borderMode=mode, borderValue=fill
        )
        return made

    return Move(target, _from_centers(matrix), lambda image: in_parts(image, warp))


WARPS: Final[dict[str, Rule]] = {
    "Affine": _affine,
    "Perspective": _perspective,
    "Rotate": _rotate,
    "SafeRotate": _safe_rotate,
    "ShiftScaleRotate": _affine,
}
"""The transforms that interpolate."""
