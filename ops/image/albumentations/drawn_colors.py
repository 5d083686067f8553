"""What the transforms that leave pixels where they are draw for a sample.

Each function takes random numbers, (height, width, channels) and the settings, under the names of
Albumentations 2, and returns the numbers that the transform is applied with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from gradiva.eager import extension as op

from .numbers import Numbers
from .settings import Settings

Size = tuple[int, int, int]
Rule = Callable[[Numbers, Size, Settings], Sequence[float]]


def ranges(*names: str) -> Rule:
    """A number of each of these ranges."""

    def rule(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
        return [numbers.uniform(*settings[name]) for name in names]

    return rule


def seeded(*names: str) -> Rule:
    """A number of each of these ranges, and a seed."""

    def rule(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
        return [*(numbers.uniform(*settings[name]) for name in names), numbers.seed()]

    return rule


def nothing(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    """No numbers."""
    return []


def _posterize(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    bits = settings["num_bits"]
    if isinstance(bits[0], list):
        return [numbers.integer(*one) for one in bits]
    return [numbers.integer(*bits)]


def _color_jitter(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    names = ("brightness", "contrast", "saturation", "hue")
    return [*(numbers.uniform(*settings[name]) for name in names), *numbers.shuffled(4)]


def _channel_shuffle(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return numbers.shuffled(size[2])


def _channel_dropout(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    low, high = settings["channel_drop_range"]
    if high >= size[2]:
        raise op.OperatorValueError(
            "all channels would be dropped", expected=f"more than {high} channels", got=size[2]
        )
    return numbers.shuffled(size[2])[: numbers.integer(low, high)]


def _rgb_shift(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    names = ("r_shift_limit", "g_shift_limit", "b_shift_limit")
    if size[2] > len(names):
        raise op.OperatorValueError("there are three shifts", expected="1 to 3", got=size[2])
    return [numbers.uniform(*settings[name]) for name in names[: size[2]]]


def _sharpen(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    alpha = numbers.uniform(*settings["alpha"])
    if settings["method"] == "kernel":
        return [alpha, numbers.uniform(*settings["lightness"])]
    return [alpha]


def _odd(numbers: Numbers, limit: Sequence[int]) -> int:
    """An odd window of at least 3 pixels."""
    low, high = (max(3, side + (side % 2 == 0)) for side in limit)
    return low + 2 * numbers.integer(0, (max(low, high) - low) // 2)


def _window(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return [_odd(numbers, settings["blur_limit"])]


def _gaussian_blur(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    sigma = numbers.uniform(*settings["sigma_limit"])
    return [sigma, numbers.integer(*settings["blur_limit"])]


def _motion_blur(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    window = _odd(numbers, settings["blur_limit"])
    angle = numbers.uniform(*settings["angle_range"])
    direction = numbers.uniform(*settings["direction_range"])
    moved = (0.0, 0.0)
    if settings["allow_shifted"]:
        moved = numbers.uniform(-1.0, 1.0), numbers.uniform(-1.0, 1.0)
    return [window, angle, direction, *moved]


def _defocus(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return [numbers.integer(*settings["radius"]), numbers.uniform(*settings["alias_blur"])]


def _unsharp_mask(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    low, high = settings["blur_limit"]
    window = low + 2 * numbers.integer(0, (high - low) // 2)
    sigma = numbers.uniform(*settings["sigma_limit"])
    return [window, sigma, numbers.uniform(*settings["alpha"])]


def _quality(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    return [numbers.integer(*settings["quality_range"])]


def _multiplicative(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    if settings["elementwise"]:
        return [numbers.seed()]
    count = size[2] if settings["per_channel"] else 1
    return [numbers.uniform(*settings["multiplier"]) for _ in range(count)]


def _holes(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    height, width, _ = size
    count = numbers.integer(*settings["num_holes_range"])
    tall, wide = settings["hole_height_range"], settings["hole_width_range"]
    found: list[float] = [numbers.seed()]
    for _ in range(count):
        if tall[1] >= 1:
            high = numbers.integer(int(tall[0]), int(min(tall[1], height)))
            broad = numbers.integer(int(wide[0]), int(min(wide[1], width)))
        else:
            high = int(height * numbers.uniform(*tall))
            broad = int(width * numbers.uniform(*wide))
        top, left = numbers.integer(0, height - high), numbers.integer(0, width - broad)
        found += [left, top, left + broad, top + high]
    return found


def _erasing(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    height, width, _ = size
    low, high = settings["ratio"]
    least, most = (part * height * width for part in settings["scale"])
    seed = numbers.seed()
    most = min(most, low * height * height, width * width / high if high else math.inf)
    if most < least or not most:
        return [seed]
    area = numbers.uniform(least, most)
    if not area:
        return [seed]
    first, last = max(low, area / (height * height)), min(high, width * width / area)
    if first > last:
        return [seed]
    ratio = numbers.uniform(first, last)
    tall, wide = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
    top, left = numbers.integer(0, height - tall), numbers.integer(0, width - wide)
    return [seed, left, top, left + wide, top + tall]


def _splits(numbers: Numbers, extent: int, count: int) -> list[int]:
    """Where cells begin and end that are almost alike, in a random order."""
    size, more = divmod(extent, count)
    sizes = [size + (k < more) for k in numbers.shuffled(count)]
    return [sum(sizes[:k]) for k in range(count + 1)]


def _units(numbers: Numbers, size: Size, settings: Settings) -> tuple[int, int]:
    """How many cells of a grid there are in rows and in columns."""
    height, width, _ = size
    if settings["holes_number_xy"]:
        first, second = settings["holes_number_xy"]
        return int(first), int(second)
    if settings["unit_size_range"]:
        low, high = settings["unit_size_range"]
        if high > min(height, width):
            raise op.OperatorValueError(
                "the units are larger than the image",
                expected=f"at least {high} x {high} pixels",
                got=f"{height} x {width}",
            )
        unit = numbers.integer(low, max(low, high - 1))
        return height // unit, width // unit
    return height // max(2, height // 10), width // max(2, width // 10)


def _grid(numbers: Numbers, size: Size, settings: Settings) -> Sequence[float]:
    height, width, _ = size
    rows, columns = _units(numbers, size, settings)
    across, down = _splits(numbers, width, columns), _splits(numbers, height, rows)
    seed, ratio = numbers.seed(), settings["ratio"]
    moved_x, moved_y = settings["shift_xy"]
    found: list[float] = [seed]
    for row in range(rows):
        for column in range(columns):
            tall, wide = down[row + 1] - down[row], across[column + 1] - across[column]
            high = int(min(max(tall * ratio, 1), tall - 1))
            broad = int(min(max(wide * ratio, 1), wide - 1))
            x, y = moved_x, moved_y
            if settings["random_offset"]:
                y, x = numbers.integer(0, tall - high), numbers.integer(0, wide - broad)
            left = min(max(across[column] + x, 0), width - broad)
            top = min(max(down[row] + y, 0), height - high)
            found += [left, top, min(left + broad, width), min(top + high, height)]
    return found


COLORS: Final[dict[str, Rule]] = {
    "Blur": _window,
    "CLAHE": ranges("clip_limit"),
    "ChannelDropout": _channel_dropout,
    "ChannelShuffle": _channel_shuffle,
    "CoarseDropout": _holes,
    "ColorJitter": _color_jitter,
    "Defocus": _defocus,
    "Downscale": ranges("scale_range"),
    "Emboss": ranges("alpha", "strength"),
    "Equalize": nothing,
    "Erasing": _erasing,
    "GaussNoise": seeded("std_range", "mean_range"),
    "GaussianBlur": _gaussian_blur,
    "GridDropout": _grid,
    "HueSaturationValue": ranges("hue_shift_limit", "sat_shift_limit", "val_shift_limit"),
    "ISONoise": seeded("color_shift", "intensity"),
    "ImageCompression": _quality,
    "InvertImg": nothing,
    "MedianBlur": _window,
    "MotionBlur": _motion_blur,
    "MultiplicativeNoise": _multiplicative,
    "Posterize": _posterize,
    "RGBShift": _rgb_shift,
    "RandomBrightnessContrast": ranges("contrast_limit", "brightness_limit"),
    "RandomGamma": ranges("gamma_limit"),
    "SaltAndPepper": seeded("amount", "salt_vs_pepper"),
    "Sharpen": _sharpen,
    "Solarize": ranges("threshold_range"),
    "ToGray": nothing,
    "ToSepia": nothing,
    "UnsharpMask": _unsharp_mask,
}
"""The transforms that leave pixels where they are."""
