"""`rotate`: turn images and volumes around their centers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array, Int64Array
from gradiva.ops.transforms.affine import turned

from .gpu import affine_launch
from .warp import (
    Warp,
    WarpOptions,
    check_has_pixels,
    extents_of,
    moved_by,
    out_shapes,
    out_sizes,
    run_affine,
    warp_type,
)

_SLACK = 0.01
"""Pixels by which a turned image may leave its canvas."""


@op.operator(
    "rotate", schema="Rotate", frames=("angle", "axis"), old_arguments={"output_dtype": "dtype"}
)
@op.uses_arguments(WarpOptions)
def rotate(
    input: op.SampleType,
    /,
    *,
    angle: op.FloatArg,
    axis: op.FloatsArg | None = None,
    keep_size: bool = False,
    **options: op.Unpack[Warp],
) -> op.SampleType:
    """Rotate each sample around its center, which stays the center of the output.

    `angle`, `axis` and `size` may differ per sample.

    Args:
        input: as in `warp_affine`.
        angle: the angle in degrees, counter-clockwise for an image as it is seen.
        axis: (x, y, z), needed for volumes and ignored for images: around which to turn, by the
            right-hand rule.
        keep_size: the output has the input's size. Without it and `size` it has the smallest size
            that holds what was turned (within 0.01 pixels), and is odd where the extent of the
            input that lies along that axis most is odd, so that pixels stay on pixels for right
            angles.

    Returns:
        Samples of the new size.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for numbers that are not finite, an axis of length 0, and samples
            without pixels if nothing fills.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.rotate(image, angle=30.0, fill_value=0).shape  # (486, 541, 3)
        gradiva.rotate(image, angle=30.0, keep_size=True).shape  # (300, 451, 3)
    """
    return warp_type(input, options)


def _axis(call: op.Call, axes: int) -> Float32Array | None:
    """The axes to turn around, None for images. Raises OperatorValueError."""
    angle = call["angle"]
    op.refuse_samples(~np.isfinite(angle), "angle", "degrees", angle)
    if axes == 2:
        return None
    axis: Float32Array | None = call["axis"]
    if axis is None or axis.shape[1] != 3:
        got = "nothing" if axis is None else f"{axis.shape[1]} numbers"
        raise op.wrong_value("axis", "(x, y, z), for volumes", got)
    bad = ~(np.isfinite(axis).all(axis=1) & (axis != 0).any(axis=1))
    expected = "three finite numbers, not all 0"
    op.refuse_samples(bad, "axis", expected, axis)
    return axis


def _canvas(extents: Int64Array, angle: Float32Array, axis: Float32Array | None) -> Int64Array:
    """The sizes that hold the turned samples; extents and result in the order of the layout."""
    spread = np.abs(turned(angle, axis, np.float64))
    along = extents[:, ::-1]
    sizes = np.ceil((spread * along[:, None, :]).sum(axis=2) - _SLACK).astype(np.int64)
    most = spread.argmax(axis=2)
    odd = np.take_along_axis(along, most, axis=1)
    canvas: Int64Array = (sizes + (sizes + odd) % 2)[:, ::-1]
    return canvas


@rotate.shapes
def _shapes(call: op.Call) -> Int64Array:
    extents = extents_of(call)
    axis = _axis(call, extents.shape[1])
    sizes = out_sizes(call, extents, cut=True)
    if sizes is None:
        sizes = extents if call["keep_size"] else _canvas(extents, call["angle"], axis)
    check_has_pixels(call, sizes, call["fill_value"] is not None)
    return out_shapes(call, sizes)


def _maps(call: op.Call) -> tuple[Float32Array, Int64Array]:
    """The matrix of each sample, and where it is: see `run_affine`."""
    extents = extents_of(call)
    axes = extents.shape[1]
    axis = _axis(call, axes)
    # The map is from output to input. In images y points down: turned back is turned on.
    linear = turned(call["angle"] if axis is None else -call["angle"], axis)
    shapes = call.batch_shapes[0].shapes
    half = np.float32(0.5)
    middle = extents[:, ::-1].astype(np.float32) * half
    out_middle = shapes[:, shapes.shape[1] - 1 - axes : -1][:, ::-1].astype(np.float32) * half
    moved = np.zeros_like(middle)
    for k in range(axes):
        moved += linear[:, :, k] * out_middle[:, k, None]
    matrices = np.concatenate([linear, (middle - moved)[:, :, None]], axis=2)
    places = np.zeros((call.size, 2), np.int64)
    places[:, 0] = np.arange(call.size)
    return np.ascontiguousarray(matrices), places


@rotate.coordinate_map
def _map(call: op.Call) -> Any:
    return moved_by(call, _maps(call)[0], True)


@rotate.cpu
def _cpu(call: op.Call) -> None:
    run_affine(call, *_maps(call))


@rotate.gpu
def _gpu(call: op.Call) -> op.Launch:
    return affine_launch(call, *_maps(call))


@rotate.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    volumes = op.samples((3, 4, 5, 2), (2, 2, 2, 2), layout="DHWC", dtype=op.float32)
    frames = op.samples((2, 4, 5, 3), (3, 3, 3, 3), layout="FHWC")
    arrays = [images.at(i) for i in range(3)]
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    around = {"axis": (0, 0, 1)}
    return [
        op.case("nothing", images, angle=0).equals(arrays),
        op.case("right angle", images, angle=90, **nearest).equals([np.rot90(a) for a in arrays]),
        op.case("half", images, angle=180, **nearest).equals([a[::-1, ::-1] for a in arrays]),
        op.case("per sample", images, angle=[0, -90, 180], **nearest).equals(
            [arrays[0], np.rot90(arrays[1], -1), arrays[2][::-1, ::-1]]
        ),
        op.case("some", images, angle=30, fill_value=7),
        op.case("kept", images, angle=-400, keep_size=True),
        op.case("size", images, angle=20, size=(4, 9), dtype=op.float32),
        op.case("volumes", volumes, angle=180, **around, **nearest).equals(
            [volumes.at(i)[:, ::-1, ::-1] for i in (0, 1)]
        ),
        op.case("sequence", frames, angle=[30, 60], fill_value=0),
        op.case("empty", op.samples(), angle=5).equals([]),
        op.case("no axis", volumes, angle=5).value_error("`axis`"),
        op.case("axis of no length", volumes, angle=5, axis=(0, 0, 0)).value_error("`axis`"),
        op.case("no number", images, angle=[0, np.nan, 1]).value_error("`angle`"),
        op.case("no angle", images).type_error("`angle`"),
        op.case("size 0", images, angle=1, size=(0, 3)).value_error("`size`"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW"), angle=1).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64), angle=1).type_error("dtype"),
    ]
