"""The noise and the dropout of Albumentations, of one image; see `colors.py`.

What needs a number for each pixel takes them from NumPy's generator, by a seed that is drawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

from .colors import Pixels, check_colors
from .settings import Drawn, Settings
from .values import (
    channels,
    clipped,
    gray_of,
    in_bytes,
    in_floats,
    largest,
    like,
    multiplied,
    with_noise,
)


def _generator(seed: float) -> np.random.Generator:
    return np.random.default_rng(int(seed))


def _gauss_noise(image: Array, drawn: Drawn, settings: Settings) -> Array:
    deviation, mean, seed = drawn
    shape = image.shape if settings["per_channel"] else image.shape[:2]
    part = settings["noise_scale_factor"]
    small = tuple(max(1, int(side * part)) for side in shape[:2])
    noise: Any = _generator(seed).standard_normal((*small, *shape[2:]), np.float32)
    noise = (noise * np.float32(deviation) + np.float32(mean)) * np.float32(largest(image))
    if small != shape[:2]:
        noise = cv2.resize(noise, shape[1::-1], interpolation=cv2.INTER_LINEAR).reshape(shape)
    return with_noise(image, noise[..., None] if noise.ndim < image.ndim else noise)


@in_floats
def _iso_noise(image: Array, drawn: Drawn, settings: Settings) -> Array:
    check_colors(image, (3,))
    shift, intensity, seed = drawn
    generator = _generator(seed)
    made = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    deviation = cv2.meanStdDev(made)[1][1]
    light = generator.poisson(deviation * intensity, size=made.shape[:2])
    color = generator.normal(0, shift * intensity, size=made.shape[:2])
    made[..., 0] += color
    more = (light * intensity * (1.0 - made[..., 1])).astype(np.float32)
    made[..., 1] = np.clip(made[..., 1] + more, 0, 1)
    noisy: Array = cv2.cvtColor(made, cv2.COLOR_HLS2RGB)
    return np.clip(noisy, 0, 1)


def _salt_and_pepper(image: Array, drawn: Drawn, settings: Settings) -> Array:
    amount, salt, seed = drawn
    area = image.shape[0] * image.shape[1]
    count = int(area * amount)
    places = _generator(seed).choice(area, size=count, replace=False)
    made = image.copy().reshape(area, -1)
    made[places[: int(count * salt)]] = largest(image)
    made[places[int(count * salt) :]] = 0
    return made.reshape(image.shape)


def _multiplicative(image: Array, drawn: Drawn, settings: Settings) -> Array:
    count = channels(image)
    if not settings["elementwise"]:
        if count == 1 or len(drawn) == 1:
            return multiplied(image, drawn[0])
        planes = [multiplied(image[..., c], drawn[c]) for c in range(count)]
        return np.stack(planes, axis=-1)
    shape = image.shape if settings["per_channel"] else image.shape[:2]
    low, high = settings["multiplier"]
    factors = _generator(drawn[0]).uniform(low, high, shape).astype(np.float32)
    factors = factors[..., None] if factors.ndim < image.ndim else factors
    return clipped(image.astype(np.float32, copy=False) * factors, image)


@in_bytes
def _inpainted(image: Array, holes: list[list[int]], method: str) -> Array:
    check_colors(image)
    mask = np.zeros(image.shape[:2], np.uint8)
    for left, top, right, bottom in holes:
        mask[top:bottom, left:right] = 255
    way = cv2.INPAINT_TELEA if method == "inpaint_telea" else cv2.INPAINT_NS
    if channels(image) == 1:
        colors = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
        return like(gray_of(cv2.inpaint(colors, mask, 3, way)[..., ::-1].copy()), image)
    made: Array = cv2.inpaint(image, mask, 3, way)
    return made


def _dropout(image: Array, drawn: Drawn, settings: Settings) -> Array:
    """Holes, given by left, top, right and bottom."""
    numbers, fill = [int(one) for one in drawn[1:]], settings["fill"]
    holes = [numbers[k : k + 4] for k in range(0, len(numbers), 4)]
    if not holes:
        return image
    if isinstance(fill, str) and fill.startswith("inpaint"):
        return _inpainted(image, holes, fill)
    made = image.copy()
    if not isinstance(fill, str):
        values = np.array(fill, image.dtype)
        for left, top, right, bottom in holes:
            made[top:bottom, left:right] = values
        return made
    generator = _generator(drawn[0])
    for left, top, right, bottom in holes:
        shape: tuple[int, ...] = (1,) if fill == "random_uniform" else (bottom - top, right - left)
        if image.ndim == 3:
            shape = *shape, image.shape[2]
        if image.dtype == np.uint8:
            made[top:bottom, left:right] = generator.integers(0, 256, shape, np.uint8)
        else:
            made[top:bottom, left:right] = generator.uniform(0, 1, shape)
    return made


NOISE: Final[dict[str, Pixels]] = {
    "CoarseDropout": _dropout,
    "Erasing": _dropout,
    "GaussNoise": _gauss_noise,
    "GridDropout": _dropout,
    "ISONoise": _iso_noise,
    "MultiplicativeNoise": _multiplicative,
    "SaltAndPepper": _salt_and_pepper,
}
