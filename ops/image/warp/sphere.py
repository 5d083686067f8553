"""`sphere`: images as if seen in a ball."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.arguments import IntArg, InterpType
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, float64
from gradiva.eager.types.sample_type import SampleType

from .displace import displace, displaced_type, longest_row, take_row
from .displace_gpu import displace_launch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["sphere"]


@operator("sphere")
def sphere(
    input: SampleType,
    /,
    *,
    mask: IntArg = 1,
    fill_value: float = 0.0,
    interp_type: InterpType = InterpType.INTERP_NN,
    **common: Unpack[Common],
) -> SampleType:
    """Draw pixels toward the centre c of the image: what is seen at p comes from

    c + (p - c) * |p - c| / r,  r = half of the longer side in whole pixels, at least 1,

    with places of centres of pixels, in float32.

    input: uint8, int8, uint16, int16, int32 or float32, HWC or no layout.
    mask: 0 leaves a sample as it is; may differ per sample.
    fill_value: what there is outside, for all channels, cast to the dtype as in C.
    interp_type: INTERP_NN or INTERP_LINEAR.

    Returns samples of the same shapes. Raises OperatorTypeError for other layouts and dtypes,
    OperatorValueError for other interpolations.
    """
    return displaced_type(input, interp_type)


@sphere.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@jit
def sphere_samples(
    src: Any,
    src_offsets: Any,
    dst: Any,
    dst_offsets: Any,
    shapes: Any,
    masks: Any,
    linear: bool,
    fill: Any,
    soft_fill: Any,
    begin: int,
    end: int,
) -> None:
    half = np.float32(0.5)
    longest = longest_row(shapes, masks, begin, end)
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        if not masks[i]:
            continue
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        middle_x, middle_y = np.float32(width) * half, np.float32(height) * half
        radius = np.float32(max(height // 2, width // 2, 1))
        for y in range(height):
            dy = (np.float32(y) + half) - middle_y
            for x in range(width):
                dx = (np.float32(x) + half) - middle_x
                scale = np.sqrt(dx * dx + dy * dy) / radius
                xs[x] = middle_x + scale * dx
                ys[x] = middle_y + scale * dy
            to = dst_offsets[i] + y * width * channels
            take_row(
                src,
                src_offsets[i],
                height,
                width,
                channels,
                xs,
                ys,
                width,
                linear,
                fill,
                soft_fill,
                dst,
                to,
            )


@sphere.cpu
def _cpu(call: Call) -> None:
    displace(call, sphere_samples)


@sphere.gpu
def _gpu(call: Call) -> Launch:
    return displace_launch(call, "sphere", np.zeros(1, np.uint8))


@sphere.cases
def _cases() -> list[Case]:
    images = samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    arrays = [images.at(i) for i in range(3)]
    pixel = samples((1, 1, 3))
    square = samples((3, 3, 1))
    return [
        case("default", images),
        case("one pixel", pixel).equals([pixel.at(0)]).no_oracle(),
        case("square", square, fill_value=7).equals([square.at(0)]),
        case("linear", images, interp_type=InterpType.INTERP_LINEAR, fill_value=90).no_oracle(),
        case("masked", images, mask=[0, 1, 0]),
        case("not applied", images, mask=0).equals(arrays).no_oracle(),
        case("floats", samples((5, 6, 2), dtype=float32), fill_value=2),
        case("empty", samples()).equals([]),
        case("cubic", images, interp_type=2).value_error("`interp_type`"),
        case("layout", samples((3, 4, 5), layout="CHW")).type_error("layout"),
        case("dtype", samples((3, 4, 1), dtype=float64)).type_error("dtype"),
        case("mask of another length", images, mask=[0]).value_error("`mask`"),
    ]
