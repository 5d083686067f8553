"""`sphere`: images as if seen in a ball."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, Float32Array, I64Table, Number, Slabs

from .displace import Displaced, Displacement, displace, displaced_type, longest_row, places_of
from .displace_gpu import displace_launch
from .rows import warp_row


@op.operator("sphere", schema="Sphere", same_shapes=True)
@op.uses_arguments(Displacement)
def sphere(input: op.SampleType, /, **options: op.Unpack[Displaced]) -> op.SampleType:
    """Magnify the center of each image, as a sphere of glass does.

    With the center c of the image, the pixel at p comes from

    c + (p - c) * |p - c| / r,  r = half of the longer side in whole pixels, at least 1,

    with places of centers of pixels, in float32.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32, HWC or no layout.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for other interpolations.

    Example:
        image = gradiva.sphere(gradiva.imread("cat.jpg"), fill_value=0)
    """
    return displaced_type(input, options)


@op.jit
def _radius(height: int, width: int) -> np.float32:
    """The radius of the sphere, in pixels."""
    return np.float32(max(max(height, width) >> 1, 1))


@op.jit
def _stretch(dx: np.float32, dy: np.float32, radius: np.float32) -> np.float32:
    """How much farther from the center than a pixel is the place that it is taken from."""
    return np.float32(np.sqrt(dx * dx + dy * dy) / radius)


@op.jit
def sphere_samples(
    slabs: Slabs,
    shapes: I64Table,
    masks: BoolVector,
    outside: tuple[bool, bool, Number, np.float32],
    begin: int,
    end: int,
) -> None:
    """Warp a range of samples as by a sphere; see `outside` of `warp_row`.

    shapes: height, width and channels of each sample; masks: whether it is warped.
    """
    src, src_offsets, dst, dst_offsets = slabs
    half = np.float32(0.5)
    longest = longest_row(shapes, masks, begin, end)
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        if not masks[i]:
            continue
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        middle_x, middle_y = np.float32(width) * half, np.float32(height) * half
        radius = _radius(height, width)
        for y in range(height):
            dy = (np.float32(y) + half) - middle_y
            for x in range(width):
                dx = (np.float32(x) + half) - middle_x
                scale = _stretch(dx, dy, radius)
                xs[x] = middle_x + scale * dx
                ys[x] = middle_y + scale * dy
            to = dst_offsets[i] + y * width * channels
            image, target = (src, src_offsets[i], shapes[i]), (dst, to)
            warp_row(image, (xs, ys), width, outside, target)


@op.jit
def _places(height: int, width: int, places: Float32Array) -> None:
    """Fill in where each pixel comes from, (h, w, 2)."""
    half = np.float32(0.5)
    middle_x, middle_y = np.float32(width) * half, np.float32(height) * half
    radius = _radius(height, width)
    for y in range(height):
        dy = (np.float32(y) + half) - middle_y
        for x in range(width):
            dx = (np.float32(x) + half) - middle_x
            scale = _stretch(dx, dy, radius)
            places[y, x, 0], places[y, x, 1] = middle_x + scale * dx, middle_y + scale * dy


@sphere.displacement
def _displacement(call: op.Call) -> list[Float32Array | None]:
    return places_of(call, _places)


@sphere.cpu
def _cpu(call: op.Call) -> None:
    displace(call, sphere_samples)


@sphere.gpu
def _gpu(call: op.Call) -> op.Launch:
    return displace_launch(call, "sphere", np.zeros(1, np.uint8), calls=(_radius, _stretch))


@sphere.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    arrays = [images.at(i) for i in range(3)]
    pixel = op.samples((1, 1, 3))
    square = op.samples((3, 3, 1))
    return [
        op.case("default", images),
        op.case("one pixel", pixel).equals([pixel.at(0)]).no_oracle(),
        op.case("square", square, fill_value=7).equals([square.at(0)]),
        op.case(
            "linear", images, interp_type=op.InterpType.INTERP_LINEAR, fill_value=90
        ).no_oracle(),
        op.case("masked", images, mask=[0, 1, 0]),
        op.case("not applied", images, mask=0).equals(arrays).no_oracle(),
        op.case("floats", op.samples((5, 6, 2), dtype=op.float32), fill_value=2),
        op.case("empty", op.samples()).equals([]),
        op.case("cubic", images, interp_type=2).value_error("`interp_type`"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW")).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64)).type_error("dtype"),
        op.case("mask of another length", images, mask=[0]).value_error("`mask`"),
    ]
