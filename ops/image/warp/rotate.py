"""`rotate`: turn images and volumes around their centers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.types.arrays import Float32Array, Int64Array
from gradiva.eager.types.coordinate_maps import gathers
from gradiva.ops.image.enhance.compat import compat_libraries
from gradiva.ops.transforms.affine import turned

from .compat import (
    Turn,
    centers_of,
    compat_warp_type,
    image_sizes,
    map_matrices,
    pillow_canvas,
    right_angle,
    sized,
    tensor_canvas,
    tensor_map,
    turn_pixels,
    warp_pictures,
    warp_tensors,
)
from .gpu import affine_launch
from .warp import (
    Warp,
    WarpOptions,
    check_has_pixels,
    extents_of,
    gather_by_matrix,
    gather_or_black,
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
    angle: op.DoubleArg,
    axis: op.FloatsArg | None = None,
    keep_size: bool = False,
    center: op.DoublesArg | None = None,
    compat: str | None = None,
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
        center: (x, y) in pixels, the point that stays, with `compat` only; may differ per sample.
            By default the center of the image.
        compat: "torchvision" or "pil": the bits of its rotate (docs/compat.md), also for the
            layouts CHW, HW, FCHW and FHW. Without `keep_size` it is that of `expand=True`, and
            without `fill_value` that of `fill=None`: black. No axis, no size, and the dtype stays.

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
    if compat is None:
        if center is not None:
            raise op.wrong_value("center", "nothing without `compat`", "a point")
        return warp_type(input, options)
    for name, value in (("axis", axis), ("size", options["size"]), ("dtype", options["dtype"])):
        if value is not None:
            raise op.wrong_value(name, "nothing with `compat`", "a value")
    return compat_warp_type(input, compat, int(options["interp_type"]))


def _axis(call: op.Call, axes: int) -> Float32Array | None:
    """The axes to turn around, None for images. Raises OperatorValueError."""
    angle = call.single("angle")
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


def _like_tensors(call: op.Call) -> list[Float32Array]:
    """The maps of torchvision's rotate."""
    sizes, centers = image_sizes(call).tolist(), centers_of(call)
    turns = [Turn(-(angle % 360)) for angle in call["angle"].tolist()]
    return [tensor_map(*one) for one in zip(turns, centers, sizes, strict=True)]


def _compat_shapes(call: op.Call) -> Int64Array:
    """The shapes of the outputs with `compat`."""
    sizes = image_sizes(call)
    angles = call["angle"]
    op.refuse_samples(~np.isfinite(angles), "angle", "degrees", angles)
    if call["keep_size"]:
        return sized(call, sizes)
    centers, made = centers_of(call), np.empty_like(sizes)
    maps = _like_tensors(call) if call["compat"] == "torchvision" else None
    for sample, (angle, center, size) in enumerate(
        zip(angles.tolist(), centers, sizes.tolist(), strict=True)
    ):
        quarters = right_angle(angle, center, True)
        if maps is None:
            made[sample] = pillow_canvas(angle, center, size)
        elif quarters is not None:
            made[sample] = size if quarters % 2 == 0 else size[::-1]
        else:
            made[sample] = tensor_canvas(maps[sample], size)
    return sized(call, made)


def _compat_cpu(call: op.Call) -> None:
    """The kernel with `compat`."""
    angles, centers = call["angle"].tolist(), centers_of(call)
    if call["compat"] == "pil":
        grow = not call["keep_size"]

        def change(image: Any, sample: int, filter: Any, fill: Any) -> Any:
            return image.rotate(angles[sample], filter, grow, centers[sample], fillcolor=fill)

        warp_pictures(call, change)
        return
    warp_tensors(call, _like_tensors(call))
    sizes = image_sizes(call)
    for sample, (angle, center) in enumerate(zip(angles, centers, strict=True)):
        square = not call["keep_size"] or sizes[sample, 0] == sizes[sample, 1]
        quarters = right_angle(angle, center, bool(square))
        if quarters is not None:
            turn_pixels(call, sample, quarters)


@rotate.shapes
def _shapes(call: op.Call) -> Int64Array:
    if call["compat"] is not None:
        return _compat_shapes(call)
    extents = extents_of(call)
    axis = _axis(call, extents.shape[1])
    sizes = out_sizes(call, extents, cut=True)
    if sizes is None:
        sizes = extents if call["keep_size"] else _canvas(extents, call.single("angle"), axis)
    check_has_pixels(call, sizes, call["fill_value"] is not None)
    return out_shapes(call, sizes)


def _maps(call: op.Call) -> tuple[Float32Array, Int64Array]:
    """The matrix of each sample, and where it is: see `run_affine`."""
    extents = extents_of(call)
    axes = extents.shape[1]
    axis = _axis(call, axes)
    # The map is from output to input. In images y points down: turned back is turned on.
    angle = call.single("angle")
    linear = turned(angle if axis is None else -angle, axis)
    # The frames of a sequence, each with an angle of its own, have outputs of one size.
    made = call.outputs[0].batch_shape if call.outputs else call.batch_shapes[0]
    shapes = made.shapes
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
    if call["compat"] is None:
        return moved_by(call, _maps(call)[0], True)
    turns = [Turn(-angle) for angle in call["angle"].tolist()]
    return moved_by(call, map_matrices(call, turns), True)


rotate.not_serializable("center", "compat")
rotate.libraries = compat_libraries
gathers["rotate"] = lambda fixed: (
    gather_by_matrix(fixed) if fixed.get("compat") is None else gather_or_black(fixed)
)


@rotate.cpu
def _cpu(call: op.Call) -> None:
    if call["compat"] is not None:
        _compat_cpu(call)
    else:
        run_affine(call, *_maps(call))


@rotate.gpu
def _gpu(call: op.Call) -> op.Launch:
    if call["compat"] is not None:
        raise NoGpuKernelError(argument="compat", expected="None", got=repr(call["compat"]))
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
        op.case("of torchvision", images, angle=30, compat="torchvision").no_oracle(),
        op.case("of Pillow", images, angle=30, keep_size=True, compat="pil").no_oracle(),
        op.case("right angle of torchvision", images, angle=90, compat="torchvision")
        .equals([np.rot90(a) for a in arrays])
        .no_oracle(),
        op.case(
            "about a point", images, angle=[5, 6, 7], center=(1, 2.5), compat="torchvision"
        ).no_oracle(),
        op.case("a point alone", images, angle=30, center=(1, 2)).value_error("`center`"),
        op.case("unknown library", images, angle=30, compat="zork").value_error("`compat`"),
        op.case("empty", op.samples(), angle=5).equals([]),
        op.case("no axis", volumes, angle=5).value_error("`axis`"),
        op.case("axis of no length", volumes, angle=5, axis=(0, 0, 0)).value_error("`axis`"),
        op.case("no number", images, angle=[0, np.nan, 1]).value_error("`angle`"),
        op.case("no angle", images).type_error("`angle`"),
        op.case("size 0", images, angle=1, size=(0, 3)).value_error("`size`"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW"), angle=1).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64), angle=1).type_error("dtype"),
    ]
