"""`affine`: turn, move, scale and shear images by numbers, as torchvision and Pillow do."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float64Array, Int64Array
from gradiva.eager.types.coordinate_maps import gathers
from gradiva.ops.image.enhance.compat import compat_libraries, pillow

from .compat import (
    Turn,
    centers_of,
    compat_warp_type,
    image_sizes,
    inverse_map,
    map_matrices,
    numbers_of,
    sized,
    tensor_map,
    warp_pictures,
    warp_tensors,
)
from .warp import gather_or_black, moved_by


@op.operator("affine", frames=("angle", "translate", "scale", "shear", "center"))
def affine(
    input: op.SampleType,
    /,
    *,
    angle: op.DoubleArg = 0.0,
    translate: op.DoublesArg = (0.0, 0.0),
    scale: op.DoubleArg = 1.0,
    shear: op.DoublesArg = (0.0, 0.0),
    center: op.DoublesArg | None = None,
    fill_value: op.Floats | None = None,
    interp_type: op.InterpTypeLike = op.InterpType.INTERP_LINEAR,
    compat: str = "torchvision",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Turn, scale, shear and move each image, which keeps its size.

    The results are those of torchvision's affine, or of Pillow. `warp_affine` takes any matrix.

    Args:
        input: uint8, with "torchvision" also float32; layouts HW, HWC, CHW and these with F.
            Without a layout HW, HWC or FHWC by rank.
        angle: degrees, clockwise as the image is seen; may differ per sample.
        translate: (x, y) in pixels, by which all moves at the end; may differ per sample.
        scale: the factor, above 0; may differ per sample.
        shear: degrees along x and along y; one number is along x. May differ per sample.
        center: (x, y) in pixels, the point that stays but for `translate`; by default the center of
            the image. May differ per sample.
        fill_value: the value outside of the image, one number or one for each channel. Without it
            black; then with "torchvision" pixels at the border are mixed with black.
        interp_type: INTERP_NN or INTERP_LINEAR, with "pil" also INTERP_CUBIC.
        compat: whose bits: "torchvision" those of its affine of tensors, "pil" those of its affine
            of Pillow's images (docs/compat.md), which have 1 or 3 channels.

    Returns:
        Images of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for numbers that are not finite, a scale of 0 or less, and images
            without pixels.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.affine(images, angle=[10.0, -5.0], translate=(20, 0), fill_value=128)
    """
    return compat_warp_type(input, compat, int(interp_type))


def _pairs(call: op.Call, name: str) -> Float64Array:
    """(N, 2) finite numbers; of `shear`, one stands for that along x."""
    rows: Float64Array = call[name]
    if name == "shear" and rows.shape[1] == 1:
        rows = np.concatenate([rows, np.zeros_like(rows)], axis=1)
    else:
        rows = numbers_of(call, name, 2, "(x, y)")
    op.refuse_samples(~np.isfinite(rows).all(axis=1), name, "finite numbers", rows)
    return rows


def _turns(call: op.Call) -> list[Turn]:
    """What is done to each sample. Raises OperatorValueError."""
    angles, scales = call["angle"], call["scale"]
    op.refuse_samples(~np.isfinite(angles), "angle", "degrees", angles)
    bad = ~((scales > 0) & (scales < np.inf))
    op.refuse_samples(bad, "scale", "a factor above 0", scales)
    moves, shears = _pairs(call, "translate").tolist(), _pairs(call, "shear").tolist()
    return [
        Turn(angle, (move[0], move[1]), scale, (shear[0], shear[1]))
        for angle, move, scale, shear in zip(
            angles.tolist(), moves, scales.tolist(), shears, strict=True
        )
    ]


@affine.shapes
def _shapes(call: op.Call) -> Int64Array:
    _turns(call)
    return sized(call, image_sizes(call))


@affine.coordinate_map
def _map(call: op.Call) -> Any:
    return moved_by(call, map_matrices(call, _turns(call)), True)


affine.libraries = compat_libraries
gathers["affine"] = gather_or_black


@affine.cpu
def _cpu(call: op.Call) -> None:
    turns, centers = _turns(call), centers_of(call)
    sizes = image_sizes(call).tolist()
    if call["compat"] == "torchvision":
        warp_tensors(call, [tensor_map(*one) for one in zip(turns, centers, sizes, strict=True)])
        return
    maps = [
        inverse_map(turn, center or (size[1] * 0.5, size[0] * 0.5))
        for turn, center, size in zip(turns, centers, sizes, strict=True)
    ]

    def change(image: Any, sample: int, filter: Any, fill: Any) -> Any:
        method = pillow.Transform.AFFINE
        return image.transform(image.size, method, maps[sample], filter, fillcolor=fill)

    warp_pictures(call, change)


@affine.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    planes = op.samples((4, 5, 6), (4, 3, 3), layout="CHW", dtype=op.float32)
    same = images.arrays()
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    moved = [np.concatenate([np.full_like(a[:, :1], 7), a[:, :-1]], axis=1) for a in same]
    each: Any = {
        "angle": [0, 10, -300],
        "scale": [1, 0.5, 2],
        "translate": [[0, 0], [1, 2], [0, 1]],
    }
    return [
        op.case("nothing", images).equals(same).no_oracle(),
        op.case(
            "no samples, their own numbers",
            op.samples(),
            translate=op.samples(dtype=op.float32, layout=""),
            shear=op.samples(dtype=op.float32, layout=""),
            center=op.samples(dtype=op.float32, layout=""),
        )
        .equals([])
        .no_oracle(),
        op.case("moved", images, translate=(1, 0), fill_value=7, **nearest)
        .equals(moved)
        .no_oracle(),
        op.case("moved by Pillow", images, translate=(1, 0), fill_value=7, compat="pil", **nearest)
        .equals(moved)
        .no_oracle(),
        op.case("per sample", images, **each).no_oracle(),
        op.case("sheared", images, shear=(10, -5), center=(2, 3), fill_value=(1, 2, 3)).no_oracle(),
        op.case("planes", planes, angle=30, shear=7, fill_value=0.5).no_oracle(),
        op.case("of Pillow", images, angle=20, compat="pil", interp_type=2).no_oracle(),
        op.case("sequence", op.samples((2, 5, 6, 1), layout="FHWC"), angle=5).no_oracle(),
        op.case("empty", op.samples(), angle=5).equals([]).no_oracle(),
        op.case("no scale", images, scale=0).value_error("`scale`"),
        op.case("no number", images, angle=[0, np.nan, 1]).value_error("`angle`"),
        op.case("three numbers", images, translate=(1, 2, 3)).value_error("`translate`"),
        op.case("fill", images, fill_value=300).value_error("`fill_value`"),
        op.case("fills", images, fill_value=(1, 2)).value_error("`fill_value`"),
        op.case("cubic", images, interp_type=2).value_error("`interp_type`"),
        op.case("unknown", images, compat="zork").value_error("`compat`"),
        op.case("no pixels", op.samples((0, 4, 3)), angle=3).value_error("no pixels"),
        op.case("layout", op.samples((3, 4, 5), layout="WHC")).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.int16)).type_error("int16"),
    ]
