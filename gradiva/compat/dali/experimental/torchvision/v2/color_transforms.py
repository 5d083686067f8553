"""The transforms that change the values of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import values
from .arguments import (
    as_kernel,
    as_positive_range,
    as_probability,
    as_range,
    as_statistics,
    mistaken,
)
from .pixels import Pixels, change_some, drawn
from .transform import Transform

__all__ = [
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "Normalize",
    "RandomGrayscale",
    "check_gray_channels",
]

Factor = float | Sequence[float] | None


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in random order.

    brightness, contrast, saturation: (min, max) of the factor; one number x stands for
        (max(0, 1 - x), 1 + x). hue: (min, max) of the angle, as a fraction of a full turn, from
        -0.5 to 0.5; one number x stands for (-x, x).
    """

    def __init__(
        self,
        brightness: Factor = 0.0,
        contrast: Factor = 0.0,
        saturation: Factor = 0.0,
        hue: Factor = 0.0,
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        most = float("inf")
        self.brightness = as_range(brightness, self.title, "brightness", 1.0, 0.0, most)
        self.contrast = as_range(contrast, self.title, "contrast", 1.0, 0.0, most)
        self.saturation = as_range(saturation, self.title, "saturation", 1.0, 0.0, most)
        self.hue = as_range(hue, self.title, "hue", 0.0, -0.5, 0.5)

    def _changed(self, pixels: Pixels) -> Pixels:
        ranges = {name: getattr(self, name) for name in values.JITTERS}
        return values.jitter(pixels, {name: own for name, own in ranges.items() if own})


class Grayscale(Transform):
    """Make gray images.

    num_output_channels: 1, or 3 equal ones.
    """

    def __init__(self, num_output_channels: int = 1, device: Any = "cpu") -> None:
        super().__init__(device)
        self.num_output_channels = check_gray_channels(num_output_channels, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return values.grayscale(pixels, self.num_output_channels)


def check_gray_channels(num_output_channels: Any, title: str) -> int:
    """1 or 3. Raises OperatorValueError."""
    if isinstance(num_output_channels, bool) or num_output_channels not in (1, 3):
        raise mistaken(title, "num_output_channels", "1 or 3", num_output_channels)
    return int(num_output_channels)


class RandomGrayscale(Transform):
    """Make some images gray, with as many channels as before.

    p: the probability.
    """

    def __init__(self, p: float = 0.1, device: Any = "cpu") -> None:
        super().__init__(device)
        self.p = as_probability(p, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        def change(own: Pixels) -> Pixels:
            return values.grayscale(own, 3 if own.channels is None else own.channels)

        if pixels.channels is not None:
            check_gray_channels(pixels.channels, self.title)
        return change_some(pixels, self.p, change)


class GaussianBlur(Transform):
    """Blur with a Gaussian window of random width.

    kernel_size: an odd number of pixels, or (width, height). sigma: the standard deviation in
        pixels, or (min, max). seed: of the draws; by default they depend on that of the pipeline.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] = (0.1, 2.0),
        device: Any = "cpu",
        seed: int = -1,
    ) -> None:
        super().__init__(device)
        self.kernel_size = as_kernel(kernel_size, self.title)
        self.sigma = as_positive_range(sigma, self.title, "sigma")
        self.seed = seed

    def _changed(self, pixels: Pixels) -> Pixels:
        sigma = drawn(pixels, *self.sigma, seed=None if self.seed < 0 else self.seed)
        return values.blur(pixels, self.kernel_size, sigma)


class Normalize(Transform):
    """(value - mean) / std, by channel, in float32.

    mean, std: one number for each channel, in the units of the pixels. inplace: False.
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        inplace: bool = False,
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        self.mean = as_statistics(mean, self.title, "mean")
        self.std = as_statistics(std, self.title, "std")
        if inplace:
            raise NotImplementedError(f"{self.title}: `inplace` is not supported")
        self.inplace = False

    def _changed(self, pixels: Pixels) -> Pixels:
        return values.normalize(pixels, self.mean, self.std)
