"""The filters of Albumentations, of one image; see `colors.py`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

from .colors import Pixels
from .settings import Drawn, Settings
from .values import channels, clipped, in_bytes, in_floats, in_parts, like


def _convolved(image: Array, window: Array) -> Array:
    return clipped(in_parts(image, lambda part: cv2.filter2D(part, -1, window)), image)


def _blur(image: Array, drawn: Drawn, settings: Settings) -> Array:
    side = int(drawn[0])
    return in_parts(image, lambda part: cv2.blur(part, (side, side)))


@in_bytes
def _median_blur(image: Array, drawn: Drawn, settings: Settings) -> Array:
    return in_parts(image, lambda part: cv2.medianBlur(part, int(drawn[0])))


def _gaussian_blur(image: Array, drawn: Drawn, settings: Settings) -> Array:
    sigma, side = drawn[0], int(drawn[1])
    side = side or int(sigma * 3.5) * 2 + 1
    half = (side + (side % 2 == 0)) // 2
    places = np.arange(-half, half + 1)
    weights = np.exp(-0.5 * (places / sigma) ** 2) if half else np.ones(1)
    weights = weights / weights.sum()
    return clipped(in_parts(image, lambda part: cv2.sepFilter2D(part, -1, weights, weights)), image)


def motion_window(drawn: Drawn) -> Array:
    """The weights of `MotionBlur`: along a line of the given angle, whose middle moves."""
    side, angle, direction = int(drawn[0]), np.deg2rad(drawn[1]), drawn[2]
    half = side // 2
    first = -half * (1 - direction) if direction > 0 else float(-half)
    last = half * (1 - abs(direction)) if direction < 0 else float(half)
    steps = np.linspace(first, last, side)
    x = half + np.cos(angle) * steps + drawn[3] * half / 2
    y = half + np.sin(angle) * steps + drawn[4] * half / 2
    columns, rows = (np.clip(np.round(one), 0, side - 1).astype(int) for one in (x, y))
    window = np.zeros((side, side), np.float32)
    window[rows, columns] = 1
    made: Array = window / np.sum(window)
    return made


def _motion_blur(image: Array, drawn: Drawn, settings: Settings) -> Array:
    return _convolved(image, motion_window(drawn))


def _defocus(image: Array, drawn: Drawn, settings: Settings) -> Array:
    radius = int(drawn[0])
    places = np.arange(-max(8, radius), max(8, radius) + 1)
    x, y = np.meshgrid(places, places)
    disk: Array = (x**2 + y**2 <= radius**2).astype(np.float32)
    disk /= np.sum(disk)
    side = 3 if radius <= 8 else 5
    return _convolved(image, cv2.GaussianBlur(disk, (side, side), sigmaX=drawn[1]))


_UNCHANGED: Final = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], np.float32)


def _mixed(image: Array, part: float, window: Any) -> Array:
    """The image, blended with what a window makes of it."""
    return _convolved(image, (1 - part) * _UNCHANGED + part * np.array(window, np.float32))


def _sharpen(image: Array, drawn: Drawn, settings: Settings) -> Array:
    if settings["method"] == "kernel":
        window = [[-1, -1, -1], [-1, 8 + drawn[1], -1], [-1, -1, -1]]
        return _mixed(image, drawn[0], window)
    side, sigma = settings["kernel_size"], settings["sigma"]
    blurred = like(cv2.GaussianBlur(image, (side, side), sigmaX=sigma, sigmaY=sigma), image)
    # Differences of uint8 wrap around, as they do there.
    return clipped(image + drawn[0] * (image - blurred), image)


def _emboss(image: Array, drawn: Drawn, settings: Settings) -> Array:
    s = drawn[1]
    return _mixed(image, drawn[0], [[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]])


@in_floats
def _unsharp_mask(image: Array, drawn: Drawn, settings: Settings) -> Array:
    side, sigma, alpha = int(drawn[0]), drawn[1], drawn[2]
    flat = image[..., 0] if image.ndim == 3 and channels(image) == 1 else image

    def blurred(values: Array) -> Array:
        return in_parts(values, lambda part: cv2.GaussianBlur(part, (side, side), sigmaX=sigma))

    rest = flat - blurred(flat)
    mask = (np.abs(rest) * 255 > settings["threshold"]).astype(np.float32)
    sharp = np.clip(flat + alpha * rest, 0, 1)
    soft = blurred(mask)
    return like(
        clipped(clipped(sharp * soft, flat) + clipped(flat * (1 - soft), flat), flat), image
    )


@in_bytes
def _downscale(image: Array, drawn: Drawn, settings: Settings) -> Array:
    pair, height, width = settings["interpolation_pair"], *image.shape[:2]
    small = cv2.resize(image, None, fx=drawn[0], fy=drawn[0], interpolation=pair["downscale"])
    return like(cv2.resize(small, (width, height), interpolation=pair["upscale"]), image)


@in_bytes
def _compression(image: Array, drawn: Drawn, settings: Settings) -> Array:
    kind = ".webp" if settings["compression_type"] == "webp" else ".jpg"
    flag = cv2.IMWRITE_WEBP_QUALITY if kind == ".webp" else cv2.IMWRITE_JPEG_QUALITY
    count = channels(image)

    def again(part: Array, mode: int) -> Array:
        made: Any = cv2.imencode(kind, part, (int(flag), int(drawn[0])))[1]
        decoded: Any = cv2.imdecode(made, mode)
        return np.asarray(decoded)

    if count == 1:
        return like(again(image, cv2.IMREAD_GRAYSCALE), image)
    three = np.pad(image, ((0, 0), (0, 0), (0, 1))) if count == 2 else image[..., :3]
    parts = [again(np.ascontiguousarray(three), cv2.IMREAD_UNCHANGED)[..., :count]]
    more = (np.ascontiguousarray(image[..., c]) for c in range(3, count))
    parts.extend(again(plane, cv2.IMREAD_GRAYSCALE)[..., None] for plane in more)
    return np.concatenate(parts, axis=2)


FILTERS: Final[dict[str, Pixels]] = {
    "Blur": _blur,
    "Defocus": _defocus,
    "Downscale": _downscale,
    "Emboss": _emboss,
    "GaussianBlur": _gaussian_blur,
    "ImageCompression": _compression,
    "MedianBlur": _median_blur,
    "MotionBlur": _motion_blur,
    "Sharpen": _sharpen,
    "UnsharpMask": _unsharp_mask,
}
