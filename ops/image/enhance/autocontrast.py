"""`autocontrast`: each channel stretched to the whole range."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array, I64Table, Slabs

from .compat import compat_libraries, compat_type, largest, planes_of, run_pillow
from .torch_colors import clamp

_imageops: Any = lazy_module("PIL.ImageOps", "pillow")


@op.operator("autocontrast", same_shapes=True)
def autocontrast(
    input: op.SampleType, /, *, compat: str = "torchvision", **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Stretch the values of each channel of each image, so that they reach from black to white.

    A channel of one value stays as it is.

    Args:
        input: uint8, with "torchvision" also float32; layouts HW, HWC, CHW and these with F, of 1
            or 3 channels. Without a layout HW, HWC or FHWC by rank.
        compat: "torchvision": (x - least) / ((most - least) / white) in float32, the fraction cut
            off, the bits of its autocontrast of tensors. "pil": those of `ImageOps.autocontrast`,
            which computes scale and offset in float64.

    Returns:
        Samples of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels.

    Example:
        gradiva.autocontrast(np.uint8([[100, 120, 140]]), compat="pil")  # [[0, 127, 255]]
    """
    return compat_type(input, compat)


@op.jit
def _stretch_samples(
    slabs: Slabs, planes: I64Table, most: np.float32, begin: int, end: int
) -> None:
    """most: white, float32."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        size = height * width * channels
        if size == 0:
            continue
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            # Slices, not offsets: an index that cannot be negative vectorizes.
            image, made = source[first : first + size], target[to : to + size]
            for c in range(channels):
                begins = c * step
                low = high = np.float32(image[begins])
                for k in range(height * width):
                    value = np.float32(image[begins + k * pixel])
                    low, high = min(low, value), max(high, value)
                scale = (high - low) * (np.float32(1.0) / most)
                if high == low:
                    low, scale = np.float32(0.0), np.float32(1.0)
                for k in range(height * width):
                    value = (np.float32(image[begins + k * pixel]) - low) / scale
                    made[begins + k * pixel] = clamp(value, most)


@autocontrast.cpu
def _cpu(call: op.Call) -> None:
    if call["compat"] == "torchvision":
        call.for_slabs(_stretch_samples, planes_of(call), np.float32(largest(call)))
    else:
        run_pillow(call, lambda image, _: _imageops.autocontrast(image))


autocontrast.libraries = compat_libraries


@autocontrast.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3), low=20, high=180)
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW")
    floats = op.samples((3, 4, 3), dtype=op.float32)
    flat = op.samples((2, 3, 1), low=7, high=7)

    def stretched(image: Array, axes: tuple[int, ...], white: float) -> Array:
        single = image.astype(np.float32)
        low, high = single.min(axes, keepdims=True), single.max(axes, keepdims=True)
        scale = (high - low) * np.float32(1 / white)
        same = high == low
        values = (single - np.where(same, np.float32(0), low)) / np.where(
            same, np.float32(1), scale
        )
        return np.clip(values, 0, white).astype(image.dtype)

    return [
        op.case("default", images).each(lambda one: stretched(one, (0, 1), 255)).no_oracle(),
        op.case("planes", planes).each(lambda one: stretched(one, (1, 2), 255)).no_oracle(),
        op.case("floats", floats).each(lambda one: stretched(one, (0, 1), 1)).no_oracle(),
        op.case("one value", flat).equals([flat.at(0)]).no_oracle(),
        op.case("of Pillow", images, compat="pil").no_oracle(),
        op.case("sequence", op.samples((2, 4, 5, 1), layout="FHWC")).no_oracle(),
        op.case("no pixels", op.samples((0, 4, 3)))
        .equals([np.zeros((0, 4, 3), np.uint8)])
        .no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
        op.case("unknown", images, compat="zork").value_error("`compat`"),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.int16)).type_error("int16"),
        op.case("layout", op.samples((2, 2, 2), layout="WHC")).type_error("layout"),
    ]
