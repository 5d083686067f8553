"""The augmentations that the policies and suites are made of.

Each takes a batch of images (uint8, HWC; or sequences FHWC) and a magnitude bin:
`rotate(images, magnitude_bin=3, num_magnitude_bins=11)`. Their ranges are those of AutoAugment
(arXiv 1805.09501, table 6 of the appendix), with the color operations as a deviation from the
factor 1 that is added or taken away. The operations were defined by Pillow's ImageOps and
ImageEnhance, and the values agree with DALI's operators of the same names.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from gradiva.eager.values.value import Value
from gradiva.math import min as least
from gradiva.ops.arrays.cast import cast_like
from gradiva.ops.image.color.brightness_contrast import brightness as scale_brightness
from gradiva.ops.image.color.brightness_contrast import contrast as scale_contrast
from gradiva.ops.image.color.color_space_conversion import color_space_conversion
from gradiva.ops.image.color.equalize import equalize as equalize_histogram
from gradiva.ops.image.color.hue import saturation
from gradiva.ops.image.filter.filter import filter as correlate
from gradiva.ops.image.warp.rotate import rotate as turn
from gradiva.ops.image.warp.warp_affine import warp_affine
from gradiva.ops.reductions.extremes import max as highest
from gradiva.ops.reductions.extremes import min as lowest
from gradiva.ops.reductions.sums import mean
from gradiva.ops.transforms.linear import shear as shear_matrix
from gradiva.ops.transforms.translation import translation
from gradiva.types import GRAY, RGB

from .core import augmentation

Array: TypeAlias = "np.ndarray[Any, Any]"

_TOP = np.uint8(255)
_MIDDLE = np.uint8(128)


def warp_x_param(magnitude: float) -> list[float]:
    """A magnitude as (x, y) of a warp along x."""
    return [magnitude, 0]


def warp_y_param(magnitude: float) -> list[float]:
    """A magnitude as (x, y) of a warp along y."""
    return [0, magnitude]


def shift_enhance_range(magnitude: float) -> Any:
    """A deviation as a factor: 0 becomes 1, which changes nothing."""
    return np.float32(1) + np.float32(magnitude)


def poster_mask_uint8(magnitude: float) -> Any:
    """How many high bits are kept, rounded half to even, as a mask. The highest one always is."""
    bits = min(max(int(np.round(magnitude)), 1), 8)
    return np.uint8(256 - (1 << (8 - bits)))


def sharpness_kernel(magnitude: float) -> Array:
    """A deviation from the factor 1 as a kernel: see `sharpness_kernel_shifted`."""
    return sharpness_kernel_shifted(1 + float(magnitude))


def sharpness_kernel_shifted(magnitude: float) -> Array:
    """A kernel (3, 3), float32, that blends the image, by the factor, with the image smoothed by
    ones around a 5, divided by 13 (the SMOOTH filter of Pillow)."""
    factor = float(magnitude)
    kernel = np.full((3, 3), (1 - factor) / 13)
    kernel[1, 1] = (1 - factor) * 5 / 13 + factor
    return kernel.astype(np.float32)


def solarize_add_shift(shift: float) -> Any:
    """What `solarize_add` adds: a whole number from 0 to 255. Raises ValueError."""
    if not 0 <= shift <= 255:
        raise ValueError(f"the shift of solarize_add must be from 0 to 255, got {shift}")
    return np.uint8(shift)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param, moves=True)
def shear_x(
    data: Any, shear: Any, fill_value: Any = 128, interp_type: Any = None, targets: Any = ()
) -> Any:
    """Move each row by a multiple of its number. fill_value, interp_type: as in `warp_affine`."""
    return _warp(data, shear_matrix(shear=shear), fill_value, interp_type, targets)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param, moves=True)
def shear_y(
    data: Any, shear: Any, fill_value: Any = 128, interp_type: Any = None, targets: Any = ()
) -> Any:
    """Move each column by a multiple of its number."""
    return _warp(data, shear_matrix(shear=shear), fill_value, interp_type, targets)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param, moves=True)
def translate_x(
    data: Any,
    rel_offset: Any,
    shape: Any,
    fill_value: Any = 128,
    interp_type: Any = None,
    targets: Any = (),
) -> Any:
    """Move by a part of the width. shape: (height, width, ...) of each sample."""
    return _warp(
        data, translation(offset=rel_offset * _extent(shape, 1)), fill_value, interp_type, targets
    )


@augmentation(
    name="translate_x",
    mag_range=(0, 250),
    randomly_negate=True,
    mag_to_param=warp_x_param,
    moves=True,
)
def translate_x_no_shape(
    data: Any, offset: Any, fill_value: Any = 128, interp_type: Any = None, targets: Any = ()
) -> Any:
    """Move along x by a number of pixels."""
    return _warp(data, translation(offset=offset), fill_value, interp_type, targets)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param, moves=True)
def translate_y(
    data: Any,
    rel_offset: Any,
    shape: Any,
    fill_value: Any = 128,
    interp_type: Any = None,
    targets: Any = (),
) -> Any:
    """Move by a part of the height. shape: (height, width, ...) of each sample."""
    return _warp(
        data, translation(offset=rel_offset * _extent(shape, 0)), fill_value, interp_type, targets
    )


@augmentation(
    name="translate_y",
    mag_range=(0, 250),
    randomly_negate=True,
    mag_to_param=warp_y_param,
    moves=True,
)
def translate_y_no_shape(
    data: Any, offset: Any, fill_value: Any = 128, interp_type: Any = None, targets: Any = ()
) -> Any:
    """Move along y by a number of pixels."""
    return _warp(data, translation(offset=offset), fill_value, interp_type, targets)


def _extent(shape: Any, axis: int) -> Any:
    """One number of a shape, which may differ per sample."""
    return shape.slice[axis] if isinstance(shape, Value) else shape[axis]


def _warp(data: Any, matrix: Any, fill_value: Any, interp_type: Any, targets: Any) -> Any:
    given = {} if interp_type is None else {"interp_type": interp_type}
    return warp_affine(
        data, *targets, matrix=matrix, fill_value=fill_value, inverse_map=False, **given
    )


@augmentation(mag_range=(0, 30), randomly_negate=True, moves=True)
def rotate(
    data: Any,
    angle: Any,
    fill_value: Any = 128,
    interp_type: Any = None,
    rotate_keep_size: bool = True,
    targets: Any = (),
) -> Any:
    """Turn by degrees. rotate_keep_size: whether the result has the size of the image."""
    given = {} if interp_type is None else {"interp_type": interp_type}
    return turn(
        data, *targets, angle=angle, fill_value=fill_value, keep_size=rotate_keep_size, **given
    )


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range, moves=False
)
def brightness(data: Any, parameter: Any) -> Any:
    """Multiply by a factor."""
    return scale_brightness(data, brightness=parameter)


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range, moves=False
)
def contrast(data: Any, parameter: Any) -> Any:
    """Spread the values about the mean of the gray image, frame by frame."""
    gray = color_space_conversion(data, image_type=RGB, output_type=GRAY)
    layout = data.type.layout
    if layout is not None and not layout.startswith("F"):
        return scale_contrast(data, contrast=parameter, contrast_center=mean(gray).cpu())
    # Each frame has a center of its own. The same operations in the same order: the same bits,
    # also for images of which it is not known before a pipeline runs that they are no sequences.
    center = mean(gray, axis_names="HW", keep_dims=True)
    return cast_like(data * parameter + (center - parameter * center), data)


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range, moves=False
)
def color(data: Any, parameter: Any) -> Any:
    """Change the saturation by a factor."""
    return saturation(data, saturation=parameter)


@augmentation(
    mag_range=(0, 0.9),
    randomly_negate=True,
    mag_to_param=sharpness_kernel,
    param_device="auto",
    moves=False,
)
def sharpness(data: Any, kernel: Any) -> Any:
    """Sharpen, or smooth where the factor is below 1."""
    return correlate(data, kernel)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto", moves=False)
def posterize(data: Any, mask: Any) -> Any:
    """Keep the high bits of each value."""
    return data & mask


@augmentation(mag_range=(256, 0), param_device="auto", moves=False)
def solarize(data: Any, threshold: Any) -> Any:
    """Invert the values from a threshold on."""
    # In uint8 this wraps around on the way, and ends at 255 - data.
    return data + (data >= threshold) * (_TOP - data - data)


@augmentation(mag_range=(0, 110), mag_to_param=solarize_add_shift, param_device="auto", moves=False)
def solarize_add(data: Any, shift: Any) -> Any:
    """Add to the values below 128, up to 255."""
    added = (data < _MIDDLE) * shift
    return least(data, _TOP - added) + added


@augmentation(moves=False)
def invert(data: Any, _: Any) -> Any:
    """The negative."""
    return _TOP - data


@augmentation(moves=False)
def equalize(data: Any, _: Any) -> Any:
    """Spread the histogram of each channel evenly."""
    return equalize_histogram(data)


@augmentation(moves=False)
def auto_contrast(data: Any, _: Any) -> Any:
    """Stretch each channel to 0 ... 255, frame by frame; one of a single value stays as it is."""
    low = lowest(data, axis_names="HW", keep_dims=True)
    span = highest(data, axis_names="HW", keep_dims=True) - low
    some = span != 0
    factor = np.float32(255) / (span + (span == 0) * _TOP)
    return cast_like((data - low * some) * factor, data)


@augmentation(moves=False)
def identity(data: Any, _: Any) -> Any:
    """Nothing at all."""
    return data
