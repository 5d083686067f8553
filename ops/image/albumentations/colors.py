"""The transforms of Albumentations on colors and intensities, of one image.

Each function takes an image (H, W) or (H, W, C) of uint8 or float32, the numbers that were drawn
for it, and the settings; it returns an image of the same shape and dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

from .settings import Drawn, Settings
from .values import (
    as_bytes,
    as_floats,
    channels,
    clipped,
    gray_of,
    in_bytes,
    largest,
    like,
    looked_up,
    moved,
    multiplied,
    multiplied_and_moved,
)

Pixels = Callable[[Array, Drawn, Settings], Array]


def check_colors(image: Array, counts: tuple[int, ...] = (1, 3)) -> None:
    """Refuse images with other numbers of channels. Raises OperatorValueError."""
    if channels(image) not in counts:
        raise op.OperatorValueError(
            "the image has a number of channels that the transform does not take",
            expected=" or ".join(map(str, counts)),
            got=channels(image),
        )


def _brightness_contrast(image: Array, drawn: Drawn, settings: Settings) -> Array:
    factor, most = 1.0 + drawn[0], largest(image)
    scale = most if settings["brightness_by_max"] else np.mean(image)
    shift = float(drawn[1] * scale)
    if settings["ensure_safe_range"]:
        if factor > 0:
            shift = float(np.clip(shift, 0, most))
            factor = min(factor, (most - shift) / most)
        else:
            shift = min(shift, most)
            factor = max(factor, -shift / most)
    return multiplied_and_moved(image, factor, shift)


def _gamma(image: Array, drawn: Drawn, settings: Settings) -> Array:
    gamma = drawn[0] / 100.0
    if image.dtype == np.uint8:
        return looked_up(image, (np.arange(0, 256.0 / 255, 1.0 / 255)[:256] ** gamma) * 255)
    made: Array = np.power(image, np.float32(gamma))
    return made


@in_bytes
def _shift_hsv(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image)
    (hue, saturation, value), shape = drawn, image.shape
    if hue == saturation == value == 0:
        return image
    gray = channels(image) == 1
    if gray:
        hue = saturation = 0
        image = cv2.cvtColor(image, cv2.COLOR_GRAY2RGB)
    planes = list(cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV)))
    if hue != 0:
        planes[0] = _turned(planes[0], hue)
    if saturation != 0:
        without_color = planes[1] == 0
        planes[1] = moved(planes[1], saturation)
        planes[1][without_color] = 0
    if value != 0:
        planes[2] = moved(planes[2], value)
    made: Array = cv2.cvtColor(cv2.merge(planes), cv2.COLOR_HSV2RGB)
    return gray_of(made).reshape(shape) if gray else made


def _turned(hues: Array, steps: float) -> Array:
    """Hues of uint8, 0 to 179, moved by a number."""
    table = np.mod(np.arange(0, 256, dtype=np.int16) + steps, 180).astype(np.uint8)
    made: Array = cv2.LUT(hues, table)
    return made


def _rgb_shift(image: Array, drawn: Drawn, settings: Settings) -> Array:
    shifts = np.array(drawn) * largest(image)
    if channels(image) == 1:
        return moved(image, shifts[0])
    planes = [moved(image[..., c], shifts[c]) for c in range(channels(image))]
    return np.stack(planes, axis=-1)


def _brightness(image: Array, factor: float) -> Array:
    if factor == 0:
        return np.zeros_like(image)
    return image if factor == 1 else multiplied(image, factor)


def _contrast(image: Array, factor: float) -> Array:
    if factor == 1:
        return image
    mean = image.mean() if channels(image) == 1 else gray_of(image).mean()
    if factor == 0:
        whole = mean if image.dtype == np.float32 else int(mean + 0.5)
        return np.full_like(image, whole)
    return multiplied_and_moved(image, factor, float(mean * (1 - factor)))


def _saturation(image: Array, factor: float) -> Array:
    if factor == 1 or channels(image) == 1:
        return image
    gray = cv2.cvtColor(gray_of(image), cv2.COLOR_GRAY2RGB)
    if factor == 0:
        made: Array = gray
        return made
    return clipped(cv2.addWeighted(image, factor, gray, 1 - factor, gamma=0), image)


def _hue(image: Array, factor: float) -> Array:
    if factor == 0 or channels(image) == 1:
        return image
    turned = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    if image.dtype == np.uint8:
        turned[..., 0] = _turned(np.ascontiguousarray(turned[..., 0]), 180 * factor)
    else:
        turned[..., 0] = np.mod(turned[..., 0] + np.float32(factor * 360), 360)
    made: Array = cv2.cvtColor(turned, cv2.COLOR_HSV2RGB)
    return made


_JITTER: Final = (_brightness, _contrast, _saturation, _hue)


def _color_jitter(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image)
    for step in drawn[4:]:
        image = like(_JITTER[int(step)](image, drawn[int(step)]), image)
    return image


def _posterize(image: Array, drawn: Drawn, settings: Settings) -> Array:
    if len(drawn) > 1:
        check_colors(image, (len(drawn),))
    keep = [256 - 2 ** (8 - int(bits)) for bits in drawn]
    values = image if image.dtype == np.uint8 else as_bytes(image)
    masks = np.array(keep if len(keep) > 1 else keep[0], np.uint8)
    made = values & masks
    return made if image.dtype == np.uint8 else as_floats(made)


def _solarize(image: Array, drawn: Drawn, settings: Settings) -> Array:
    threshold = drawn[0]
    if image.dtype == np.uint8:
        values = np.arange(256)
        return looked_up(image, np.where(values >= threshold * 255, 255 - values, values))
    return clipped(np.where(image >= np.float32(threshold), 1.0 - image, image), image)


def _spread(image: Array) -> Array:
    """The rule of Pillow for equal histograms, with sums in float32."""
    histogram: Any = cv2.calcHist([image], [0], None, [256], (0, 256)).ravel()
    filled = histogram[histogram != 0]
    step = np.sum(filled[:-1]) // 255 if len(filled) > 1 else 0
    if not step:
        return image
    table = np.minimum((np.cumsum(histogram) + step // 2) // step, 255).astype(np.uint8)
    made: Array = cv2.LUT(image, table)
    return made


@in_bytes
def _equalize(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image)
    spread: Any = _spread if settings["mode"] == "pil" else cv2.equalizeHist
    if channels(image) == 1:
        return like(spread(image.reshape(image.shape[:2])), image)
    if not settings["by_channels"]:
        planes = list(cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)))
        planes[0] = spread(planes[0])
        whole: Array = cv2.cvtColor(cv2.merge(planes), cv2.COLOR_YCrCb2RGB)
        return whole
    made: Array = cv2.merge([spread(plane) for plane in cv2.split(image)])
    return made


@in_bytes
def _clahe(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image)
    columns, rows = settings["tile_grid_size"]
    tiles: Any = cv2.createCLAHE(clipLimit=drawn[0], tileGridSize=(columns, rows))
    if channels(image) == 1:
        return like(tiles.apply(image), image)
    planes = list(cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2LAB)))
    planes[0] = tiles.apply(planes[0])
    made: Array = cv2.cvtColor(cv2.merge(planes), cv2.COLOR_LAB2RGB)
    return made


def _invert(image: Array, drawn: Drawn, settings: Settings) -> Array:
    made: Array = np.subtract(largest(image), image, dtype=image.dtype)
    return made


def gray_plane(image: Array, method: str) -> Array:
    """(H, W): the gray values of an image, by one of the methods of `ToGray`."""
    if method in ("weighted_average", "from_lab"):
        check_colors(image, (3,))
    if method == "weighted_average":
        return gray_of(image)
    if method == "from_lab":
        values = image if image.dtype == np.uint8 else as_bytes(image)
        light = np.ascontiguousarray(cv2.cvtColor(values, cv2.COLOR_RGB2LAB)[..., 0])
        return light if image.dtype == np.uint8 else as_floats(light)
    if method == "average":
        mean: Array = np.mean(image, axis=-1).astype(image.dtype)
        return mean
    if method == "max":
        made: Array = np.max(image, axis=-1)
        return made
    wide = image.astype(np.float32)
    return clipped((np.max(wide, axis=-1) + np.min(wide, axis=-1)) / 2, image)


def _gray(image: Array, drawn: Drawn, settings: Settings) -> Array:
    if channels(image) == 1:
        return image
    return np.repeat(gray_plane(image, settings["method"])[..., None], channels(image), axis=2)


_SEPIA: Final = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


def _sepia(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image)
    if channels(image) == 1:
        return image
    return clipped(cv2.transform(image, _SEPIA), image)


def _channel_shuffle(image: Array, drawn: Drawn, settings: Settings) -> Array:
    if channels(image) == 1:
        return image
    return np.ascontiguousarray(image[..., [int(one) for one in drawn]])


def _channel_dropout(image: Array, drawn: Drawn, settings: Settings) -> Array:
    made = image.copy()
    made[..., [int(one) for one in drawn]] = settings["fill"]
    return made


COLORS: Final[dict[str, Pixels]] = {
    "CLAHE": _clahe,
    "ChannelDropout": _channel_dropout,
    "ChannelShuffle": _channel_shuffle,
    "ColorJitter": _color_jitter,
    "Equalize": _equalize,
    "HueSaturationValue": _shift_hsv,
    "InvertImg": _invert,
    "Posterize": _posterize,
    "RGBShift": _rgb_shift,
    "RandomBrightnessContrast": _brightness_contrast,
    "RandomGamma": _gamma,
    "Solarize": _solarize,
    "ToGray": _gray,
    "ToSepia": _sepia,
}
