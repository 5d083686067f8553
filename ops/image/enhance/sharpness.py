"""`sharpness`: images blended with their smoothed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Table, I64Table, Slabs

from .blends import enhance
from .compat import blending, compat_libraries, compat_type, planes_of, run_pillow
from .torch_colors import clamp, fused

_SIDE, _MIDDLE = np.float32(1.0 / 13.0), np.float32(5.0 / 13.0)


@op.operator("sharpness", same_shapes=True)
def sharpness(
    input: op.SampleType,
    /,
    *,
    sharpness: op.DoubleArg = 1.0,
    compat: str = "torchvision",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Sharpen each image, or smooth it.

    The image is blended with one that is smoothed by ones around a 5, divided by 13:
    sharpness * image + (1 - sharpness) * smoothed. Pixels at the border stay as they are.

    Args:
        input: uint8, with "torchvision" also float32; layouts HW, HWC, CHW and these with F, of 1
            or 3 channels. Without a layout HW, HWC or FHWC by rank.
        sharpness: the factor, from 0 on: 0 smooths, 1 leaves an image as it is, 2 sharpens; may
            differ per sample.
        compat: whose bits: "torchvision" those of its adjust_sharpness of tensors, "pil" those of
            Pillow's `ImageEnhance.Sharpness` (docs/compat.md).

    Returns:
        Samples of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for negative factors and other numbers of channels.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.sharpness(images, sharpness=[0.5, 2.0])
    """
    return compat_type(input, compat)


@op.jit
def _sharpen_samples(slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int) -> None:
    """rows: as `blending` has them. The sums are in float32, with one rounding for each of the nine
    pixels, row by row; for uint8 they are far from halves, so that no rounding changes them."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        _, rest, most = rows[i]
        size, line = height * width * channels, width * pixel
        whole = most > np.float32(1.0)
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            target[to : to + size] = source[first : first + size]
            for c in range(channels):
                for y in range(1, height - 1):
                    for x in range(1, width - 1):
                        at = y * line + x * pixel + c * step
                        total = np.float32(0.0)
                        for row in range(3):
                            for column in range(3):
                                there = first + at + (row - 1) * line + (column - 1) * pixel
                                weight = _MIDDLE if row == 1 and column == 1 else _SIDE
                                total = fused(np.float32(source[there]), weight, total)
                        if whole:
                            total = np.rint(total)
                        value = np.float32(source[first + at])
                        target[to + at] = clamp(fused(total - value, rest, value), most)


@sharpness.cpu
def _cpu(call: op.Call) -> None:
    rows = blending(call, "sharpness")
    if call["compat"] == "torchvision":
        call.for_slabs(_sharpen_samples, planes_of(call), rows)
        return
    factors = call["sharpness"]
    run_pillow(call, lambda image, sample: enhance.Sharpness(image).enhance(float(factors[sample])))


sharpness.libraries = compat_libraries


@sharpness.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 3, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW")
    floats = op.samples((3, 4, 3), dtype=op.float32)

    def blended(image: Array, factor: float) -> Array:
        """In whole numbers and float64, for gray images of (H, W, 1)."""
        padded = np.asarray(image[..., 0], np.int64)
        total = 4 * padded[1:-1, 1:-1]
        for y in range(3):
            for x in range(3):
                total = total + padded[y : y + len(padded) - 2, x : x + padded.shape[1] - 2]
        smooth = (2 * total + 13) // 26
        made = padded.astype(np.float64)
        made[1:-1, 1:-1] += (1 - factor) * (smooth - made[1:-1, 1:-1])
        return np.clip(made, 0, 255).astype(np.uint8)[..., None]

    gray = op.samples((7, 9, 1), (3, 3, 1), (2, 5, 1))
    halves: Any = [blended(gray.at(i), 0.5) if i < 2 else gray.at(2) for i in range(3)]
    return [
        op.case("default", images).equals(images.arrays()).no_oracle(),
        op.case("half", gray, sharpness=0.5).equals(halves).no_oracle(),
        op.case("per sample", images, sharpness=[0.0, 2.0, 3.5]).no_oracle(),
        op.case("planes", planes, sharpness=1.7).no_oracle(),
        op.case("floats", floats, sharpness=0.3).no_oracle(),
        op.case("of Pillow", images, sharpness=1.7, compat="pil").no_oracle(),
        op.case("sequence", op.samples((2, 4, 5, 1), layout="FHWC"), sharpness=2).no_oracle(),
        op.case("empty", op.samples(), sharpness=2.0).equals([]).no_oracle(),
        op.case("negative", images, sharpness=[1.0, -1.0, 1.0]).value_error("`sharpness`"),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
        op.case("unknown", images, compat="zork").value_error("`compat`"),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.int16)).type_error("int16"),
        op.case("layout", op.samples((2, 2, 2), layout="WHC")).type_error("layout"),
    ]
