"""The transforms that move pixels, and those that change the kind of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import geometry, values
from .arguments import (
    as_border,
    as_fill,
    as_padding_mode,
    as_positive_range,
    as_probability,
    as_sides,
    as_size,
    mistaken,
    mistyped,
)
from .interpolation import InterpolationMode, filter_of
from .pixels import Pixels, at_random, change_some
from .transform import Transform, check_transforms

__all__ = [
    "CenterCrop",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToPureTensor",
    "fill_for",
]

Numbers = int | float | Sequence[float] | None


class CenterCrop(Transform):
    """Cut out the middle. A smaller image gets black around it.

    size: (height, width) in pixels; one number stands for both.
    """

    def __init__(self, size: int | Sequence[int], device: Any = "cpu") -> None:
        super().__init__(device)
        self.size = as_size(size, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.center_crop(pixels, self.size)


class Resize(Transform):
    """Resize to (height, width), or to a shorter or longer side.

    size: (height, width); one number is the length of the shorter side; None, where `max_size` is
        that of the longer one. interpolation: an InterpolationMode, of torchvision as well, or the
        number of a filter of Pillow; LANCZOS is for images of Pillow only. max_size: of the longer
        side, where `size` is one number. antialias: False uses the nearest pixels of tensors only,
        and None, too; images of Pillow are always averaged.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = None if size is None else as_sides(size, self.title)
        self.interpolation = interpolation
        self.max_size = None if max_size is None else as_size(max_size, self.title, "max_size")[0]
        self.antialias = antialias
        self._filter = filter_of(interpolation, self.title)
        if self.size is None and max_size is None:
            raise mistaken(self.title, "max_size", "a number of pixels where `size` is None", None)
        if self.size is not None and self.max_size is not None:
            if len(self.size) == 2:
                expected = "None where `size` is (height, width)"
                raise mistaken(self.title, "max_size", expected, max_size)
            if self.max_size <= self.size[0]:
                expected = f"more than the shorter side, {self.size[0]}"
                raise mistaken(self.title, "max_size", expected, max_size)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.resize(pixels, self.size, self._filter, self.max_size, self.antialias)


class Pad(Transform):
    """Add a border.

    padding: pixels on all sides; or two numbers, for left and right and for top and bottom; or
        four, for left, top, right and bottom. fill: the value of the border, or one for each
        channel; or a dict of these by type, as in torchvision. padding_mode: "constant", "edge",
        "reflect" or "symmetric".
    """

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: Numbers | dict[Any, Numbers] = 0,
        padding_mode: str = "constant",
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        self.padding = as_border(padding, self.title)
        self.fill = fill
        self.padding_mode = as_padding_mode(padding_mode, self.title)
        self._fills = fill_for(fill, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        fill = self._fills[pixels.layout]
        return geometry.pad(pixels, self.padding, fill, self.padding_mode)


def fill_for(fill: Any, title: str) -> dict[str, tuple[float, ...]]:
    """The values of a border, by the layout of the images that get it."""
    if not isinstance(fill, dict):
        return dict.fromkeys(("HWC", "CHW"), as_fill(fill, title))
    by_name = {getattr(key, "__name__", key): value for key, value in fill.items()}
    other = by_name.get("others", 0)
    return {
        "HWC": as_fill(by_name.get("Image", other), title),
        "CHW": as_fill(by_name.get("Tensor", by_name.get("Image", other)), title),
    }


class RandomCrop(Transform):
    """Cut out a window at a random place.

    size: (height, width) of the window; one number stands for both. padding: a border that is added
        first, as `Pad` takes it. pad_if_needed: a smaller image is enlarged first, by as much as it
        lacks on both sides. fill, padding_mode: what a border is made of, as in `Pad`.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Numbers | dict[Any, Numbers] = 0,
        padding_mode: str = "constant",
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = as_size(size, self.title)
        self.padding = None if padding is None else as_border(padding, self.title)
        if not isinstance(pad_if_needed, bool):
            raise mistyped(self.title, "pad_if_needed", "True or False", pad_if_needed)
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = as_padding_mode(padding_mode, self.title)
        self._fills = fill_for(fill, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.random_crop(
            pixels,
            self.size,
            self.padding or (0, 0, 0, 0),
            self.pad_if_needed,
            self._fills[pixels.layout],
            self.padding_mode,
        )


class RandomResizedCrop(Transform):
    """Resize a window of random area, ratio and place.

    size: (height, width) of the result; one number stands for both. scale: least and greatest area
        of the window, as a fraction of that of the image. ratio: least and greatest width / height
        of the window. interpolation, antialias: as in `Resize`.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
        device: Any = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = as_size(size, self.title)
        for name, value in (("scale", scale), ("ratio", ratio)):
            if not isinstance(value, Sequence) or len(value) != 2:
                raise mistyped(self.title, name, "(min, max)", value)
        self.scale = as_positive_range(scale, self.title, "scale")
        self.ratio = as_positive_range(ratio, self.title, "ratio")
        self.interpolation = interpolation
        self.antialias = antialias
        self._filter = filter_of(interpolation, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.random_resized_crop(
            pixels, self.size, self.scale, self.ratio, self._filter, self.antialias
        )


class RandomHorizontalFlip(Transform):
    """Mirror left and right.

    p: the probability.
    """

    def __init__(self, p: float = 0.5, device: Any = "cpu") -> None:
        super().__init__(device)
        self.p = as_probability(p, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.flip(pixels, at_random(pixels, self.p), 0)


class RandomVerticalFlip(Transform):
    """Mirror top and bottom.

    p: the probability.
    """

    def __init__(self, p: float = 0.5, device: Any = "cpu") -> None:
        super().__init__(device)
        self.p = as_probability(p, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        return geometry.flip(pixels, 0, at_random(pixels, self.p))


class RandomApply(Transform):
    """Apply several transforms, all of them or none.

    op_list: the transforms. p: the probability.
    """

    def __init__(self, op_list: Sequence[Any], p: float = 0.5, device: Any = "cpu") -> None:
        super().__init__(device)
        self.op_list = check_transforms(op_list, self.title)
        self.p = as_probability(p, self.title)

    def _changed(self, pixels: Pixels) -> Pixels:
        def change(own: Pixels) -> Pixels:
            for one in self.op_list:
                own = one.apply(own)
            return own

        return change_some(pixels, self.p, change)


class PILToTensor(Transform):
    """Make tensors (C, H, W) of images of Pillow, with the same values. Tensors stay."""

    def _changed(self, pixels: Pixels) -> Pixels:
        return values.to_planes(pixels)


class ToPureTensor(PILToTensor):
    """Make plain tensors (C, H, W) of images of Pillow and of `tv_tensors`."""


class ToPILImage(Transform):
    """Make images of Pillow of tensors: uint8, or floats, of which 1.0 is white."""

    def _changed(self, pixels: Pixels) -> Pixels:
        return values.to_pixels(pixels)
