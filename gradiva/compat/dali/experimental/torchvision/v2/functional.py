"""Functions of one image of Pillow or one tensor, by the names of torchvision's `functional`.

Each is the transform of its name, computed at once: the bits are those of `Compose`. An image may
also be a tensor (..., C, H, W), a list of images, or a batch of gradiva.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, user_location
from gradiva.eager.types.device import DeviceLike
from gradiva.eager.values.value import Value

from . import geometry, values
from .arguments import as_kernel, as_positive_range, mistaken, mistyped
from .color_transforms import Grayscale, Normalize
from .images import as_images, is_pillow, is_torch, pillow, torch
from .interpolation import InterpolationMode
from .pixels import Pixels, pixels_of
from .transforms import CenterCrop, Pad, Resize

__all__ = [
    "center_crop",
    "crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_size",
    "get_size",
    "horizontal_flip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vertical_flip",
]


def _changed(inpt: Any, change: Callable[[Pixels], Pixels], device: DeviceLike) -> Any:
    """The images as the function makes them, in the form in which they are given."""
    if isinstance(inpt, Value):
        return change(pixels_of(inpt, "torchvision.functional")).data
    batch, given = as_images(inpt, device)
    if not len(batch) and not given.listed:
        made = _changed(inpt.new_zeros((1, *inpt.shape[-3:])), change, device)
        return made[:0].reshape(*inpt.shape[:-3], *made.shape[1:])
    made = change(pixels_of(batch, "torchvision.functional"))
    return given.results(made.data)


def center_crop(inpt: Any, output_size: int | Sequence[int], device: DeviceLike = "cpu") -> Any:
    """The middle of an image: see `CenterCrop`."""
    return _changed(inpt, CenterCrop(output_size).apply, device)


def crop(
    inpt: Any, top: float, left: float, height: float, width: float, device: DeviceLike = "cpu"
) -> Any:
    """A window of an image, in pixels; black beyond it.

    Fractions are rounded for images of Pillow, as Pillow does, and refused for tensors.
    """

    def change(pixels: Pixels) -> Pixels:
        return geometry.crop(pixels, *_box(pixels, top, left, height, width))

    return _changed(inpt, change, device)


def _box(pixels: Pixels, top: Any, left: Any, height: Any, width: Any) -> tuple[int, int, int, int]:
    title = "torchvision.crop"
    names = {"top": top, "left": left, "height": height, "width": width}
    if pixels.layout == "HWC":
        try:
            above, before = round(top), round(left)
            found = above, before, round(top + height) - above, round(left + width) - before
        except TypeError:
            raise mistyped(title, "top, left, height, width", "numbers", names) from None
    else:
        try:
            found = tuple(operator.index(one) for one in names.values())  # type: ignore[assignment]
        except TypeError:
            raise mistyped(title, "top, left, height, width", "integers", names) from None
    if min(found[2:]) < 1:
        raise mistaken(title, "height, width", "numbers of pixels, from 1 on", found[2:])
    return found


def resized_crop(
    inpt: Any,
    top: float,
    left: float,
    height: float,
    width: float,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
    device: DeviceLike = "cpu",
) -> Any:
    """A window of an image, resized: `crop`, then `resize`."""
    second = Resize(size, interpolation, None, antialias)

    def change(pixels: Pixels) -> Pixels:
        window = geometry.crop(pixels, *_box(pixels, top, left, height, width))
        return second.apply(window)

    return _changed(inpt, change, device)


def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
    device: DeviceLike = "cpu",
) -> Any:
    """An image of another size: see `Resize`."""
    return _changed(inpt, Resize(size, interpolation, max_size, antialias).apply, device)


def pad(
    inpt: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = 0,
    padding_mode: str = "constant",
    device: DeviceLike = "cpu",
) -> Any:
    """An image with a border: see `Pad`."""
    return _changed(inpt, Pad(padding, fill, padding_mode).apply, device)


def horizontal_flip(inpt: Any, device: DeviceLike = "cpu") -> Any:
    """An image with left and right exchanged."""
    return _changed(inpt, lambda pixels: geometry.flip(pixels, 1, 0), device)


def vertical_flip(inpt: Any, device: DeviceLike = "cpu") -> Any:
    """An image with top and bottom exchanged."""
    return _changed(inpt, lambda pixels: geometry.flip(pixels, 0, 1), device)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1, device: DeviceLike = "cpu") -> Any:
    """A gray image, of 1 or 3 equal channels: see `Grayscale`."""
    return _changed(inpt, Grayscale(num_output_channels).apply, device)


def to_grayscale(inpt: Any, num_output_channels: int = 1, device: DeviceLike = "cpu") -> Any:
    """The same as `rgb_to_grayscale`."""
    return rgb_to_grayscale(inpt, num_output_channels, device)


def gaussian_blur(
    inpt: Any,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float] | None = None,
    device: DeviceLike = "cpu",
) -> Any:
    """A blurred image.

    kernel_size: an odd number of pixels, or (width, height). sigma: the standard deviation in
    pixels, or (along x, along y), as in torchvision; None is 0.15 * kernel_size + 0.35. Nothing
    is drawn here; `GaussianBlur` draws.
    """
    kernel = as_kernel(kernel_size, "torchvision.gaussian_blur")
    sides: Any = None
    if sigma is not None:
        numbers = sigma if isinstance(sigma, Sequence) else [sigma]
        if len(numbers) not in (1, 2):
            raise mistaken("torchvision.gaussian_blur", "sigma", "one number or two", sigma)
        every = [as_positive_range(one, "torchvision.gaussian_blur", "sigma")[0] for one in numbers]
        sides = every[0], every[-1]
    return _changed(inpt, lambda pixels: values.blur(pixels, kernel, sides), device)


def normalize(
    input_data: Any,
    mean: Sequence[float],
    std: Sequence[float],
    inplace: bool = False,
    device: DeviceLike = "cpu",
) -> Any:
    """A tensor with (value - mean) / std, by channel: see `Normalize`."""
    transform = Normalize(mean, std, inplace)
    if is_pillow(input_data):
        raise mistyped("torchvision.normalize", "input_data", "a tensor", input_data)
    return _changed(input_data, transform.apply, device)


def get_dimensions(inpt: Any) -> list[int]:
    """[channels, height, width] of an image of Pillow or a tensor (..., H, W)."""
    if is_pillow(inpt):
        return [len(inpt.getbands()), inpt.height, inpt.width]
    height, width = get_size(inpt)
    return [1 if inpt.ndim == 2 else int(inpt.shape[-3]), height, width]


def get_size(inpt: Any) -> list[int]:
    """[height, width] of an image of Pillow or a tensor (..., H, W)."""
    if is_pillow(inpt):
        return [inpt.height, inpt.width]
    if not is_torch(inpt) or inpt.ndim < 2:
        expected = "an image of Pillow, or a tensor of two axes or more"
        raise mistyped("torchvision.get_size", "inpt", expected, inpt)
    return [int(extent) for extent in inpt.shape[-2:]]


def get_image_size(inpt: Any) -> list[int]:
    """[width, height] of an image of Pillow or a tensor (..., H, W)."""
    return get_size(inpt)[::-1]


_TYPES = {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}
"""Of the modes of Pillow whose values are no bytes."""


def pil_to_tensor(inpt: Any) -> Any:
    """A tensor (C, H, W) with the values of an image of Pillow of any mode."""
    if not is_pillow(inpt):
        raise mistyped("torchvision.pil_to_tensor", "inpt", "an image of Pillow", inpt)
    array = np.array(inpt)
    return _planes(array)


def _planes(array: Any) -> Any:
    if array.ndim == 2:
        array = array[..., None]
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def to_tensor(inpt: Any) -> Any:
    """A tensor (C, H, W) of an image of Pillow or an array (H, W) or (H, W, C): bytes become
    float32 of 0 to 1, other values stay."""
    if isinstance(inpt, np.ndarray):
        if inpt.ndim not in (2, 3):
            problem = f"an array of {inpt.ndim} axes"
            raise mistaken("torchvision.to_tensor", "inpt", "two axes or three", problem)
        planes = _planes(inpt)
        return planes.to(torch.float32).div(255) if inpt.dtype == np.uint8 else planes
    if not is_pillow(inpt):
        raise mistyped("torchvision.to_tensor", "inpt", "an image of Pillow or an array", inpt)
    dtype = _TYPES.get(inpt.mode)
    if dtype is not None:
        return _planes(np.array(inpt, dtype))
    array = np.array(inpt, np.uint8)
    planes = _planes(array * np.uint8(255) if inpt.mode == "1" else array)
    return planes.to(torch.float32).div(255)


def to_pil_image(inpt: Any, mode: str | None = None, input_layout: str = "CHW") -> Any:
    """An image of Pillow of a tensor (C, H, W), or (H, W) of one channel.

    Floats are multiplied by 255 and their fractions cut off, unless `mode` is "F". mode: of
    Pillow; by default L, LA, RGB or RGBA, and I;16, I or F for one channel of int16, int32 and
    floats. input_layout: "CHW" or "HWC".
    """
    title = "torchvision.to_pil_image"
    if not is_torch(inpt):
        raise mistyped(title, "inpt", "a tensor of torch", inpt)
    if input_layout not in ("CHW", "HWC"):
        raise mistaken(title, "input_layout", "CHW or HWC", input_layout)
    array = inpt.detach().cpu().numpy()
    if array.ndim == 2:
        array = array[..., None]
    elif array.ndim != 3:
        raise mistaken(title, "inpt", "two axes or three", tuple(inpt.shape))
    elif input_layout == "CHW":
        array = array.transpose(1, 2, 0)
    if array.dtype.kind == "f" and mode != "F":
        with np.errstate(invalid="ignore"):
            array = (array * 255).astype(np.uint8)
    return _image(np.ascontiguousarray(array), mode, title)


_MODES: dict[tuple[int, str], tuple[str, ...]] = {
    (1, "uint8"): ("L",),
    (1, "int16"): ("I;16",),
    (1, "int32"): ("I",),
    (1, "float32"): ("F",),
    (2, "uint8"): ("LA",),
    (3, "uint8"): ("RGB", "YCbCr", "HSV"),
    (4, "uint8"): ("RGBA", "CMYK", "RGBX"),
}
"""The modes of Pillow, by channels and dtype; the first of each is the usual one."""


def _image(array: Any, mode: str | None, title: str) -> Any:
    channels, dtype = array.shape[2], array.dtype.name
    modes = _MODES.get((channels, dtype))
    if modes is None:
        known = channels in range(1, 5)
        raise (OperatorTypeError if known else OperatorValueError)(
            operator=title,
            argument="inpt",
            expected="1 to 4 channels of bytes or floats, or one of int16 or int32",
            got=f"{channels} channels of {dtype}",
            location=user_location(),
        )
    if mode is not None and mode not in modes:
        raise mistaken(title, "mode", f"one of {', '.join(modes)}", mode)
    pixels = array[..., 0] if channels == 1 else array
    mode = mode or modes[0]
    if mode in ("L", "LA", "RGB", "RGBA", "I", "F", "I;16"):
        return pillow.fromarray(pixels) if mode != "I;16" else _of_bytes(pixels, mode)
    return _of_bytes(pixels, mode)


def _of_bytes(pixels: Any, mode: str) -> Any:
    size = pixels.shape[1], pixels.shape[0]
    return pillow.frombytes(mode, size, pixels.tobytes())
