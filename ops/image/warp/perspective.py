"""`perspective`: images whose four corners are moved, as torchvision and Pillow do it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array, Float64Array, Int64Array
from gradiva.eager.types.coordinate_maps import gathers
from gradiva.ops.image.enhance.compat import compat_libraries, pillow

from .compat import (
    compat_warp_type,
    image_sizes,
    numbers_of,
    perspective_map,
    sized,
    warp_pictures,
    warp_tensors,
)
from .warp import gather_or_black, moved_by


@op.operator("perspective", frames=("startpoints", "endpoints", "coefficients"))
def perspective(
    input: op.SampleType,
    /,
    *,
    startpoints: op.DoublesArg | None = None,
    endpoints: op.DoublesArg | None = None,
    coefficients: op.DoublesArg | None = None,
    fill_value: op.Floats | None = None,
    interp_type: op.InterpTypeLike = op.InterpType.INTERP_LINEAR,
    compat: str = "torchvision",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move four points of each image to four other places, by a projective map.

    The results are those of torchvision's perspective, or of Pillow. The image keeps its size.
    `experimental.warp_perspective` takes any matrix.

    Args:
        input: uint8, with "torchvision" also float32; layouts HW, HWC, CHW and these with F.
            Without a layout HW, HWC or FHWC by rank.
        startpoints: four points of the image, usually its corners, as 8 numbers x, y, x, y and so
            on, in pixels; may differ per sample.
        endpoints: where they are moved to, in the same order; may differ per sample.
        coefficients: in place of both, the 8 numbers a to h of the map that leads from the output
            to the input: x becomes (a x + b y + c) / (g x + h y + 1), and y likewise with d, e and
            f. May differ per sample.
        fill_value: the value outside of the image, one number or one for each channel. Without it
            black; then with "torchvision" pixels at the border are mixed with black.
        interp_type: INTERP_NN or INTERP_LINEAR, with "pil" also INTERP_CUBIC.
        compat: whose bits: "torchvision" those of its perspective of tensors, "pil" those of its
            perspective of Pillow's images (docs/compat.md), which have 1 or 3 channels.

    Returns:
        Images of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other counts of numbers, points that no map connects, neither points
            nor coefficients or both, and images without pixels.

    Example:
        image = gradiva.imread("cat.jpg")
        corners = [0, 0, 450, 0, 450, 299, 0, 299]
        moved = [30, 10, 430, 0, 450, 280, 5, 299]
        image = gradiva.perspective(image, startpoints=corners, endpoints=moved)
    """
    return compat_warp_type(input, compat, int(interp_type))


def _eight(call: op.Call, name: str) -> Float64Array:
    """(N, 8) finite numbers."""
    rows = numbers_of(call, name, 8, "8 numbers")
    op.refuse_samples(~np.isfinite(rows).all(axis=1), name, "finite numbers", rows)
    return rows


def _maps(call: op.Call) -> list[Float32Array]:
    """The map of each sample, from output to input. Raises OperatorValueError."""
    points = ("startpoints", "endpoints")
    given = [call[name] is not None for name in (*points, "coefficients")]
    if given not in ([True, True, False], [False, False, True]):
        raise op.OperatorValueError(
            "give both `startpoints` and `endpoints`, or `coefficients` in place of both"
        )
    maps: list[Float32Array] = []
    if given[2]:
        for row in _eight(call, "coefficients"):
            with np.errstate(over="ignore"):
                maps.append(np.append(row, 1.0).astype(np.float32).reshape(3, 3))
        return maps
    pairs = zip(*(_eight(call, name).reshape(-1, 4, 2) for name in points), strict=True)
    for sample, (start, end) in enumerate(pairs):
        try:
            maps.append(perspective_map(start, end))
        except np.linalg.LinAlgError:
            got = str(end.reshape(-1).tolist())
            raise op.wrong_value(
                "endpoints", "four points, of which no three lie on a line", got, sample=sample
            ) from None
    return maps


@perspective.shapes
def _shapes(call: op.Call) -> Int64Array:
    _maps(call)
    return sized(call, image_sizes(call))


@perspective.coordinate_map
def _map(call: op.Call) -> Any:
    return moved_by(call, np.stack(_maps(call)) if call.size else np.zeros((0, 3, 3)), True)


perspective.libraries = compat_libraries
gathers["perspective"] = gather_or_black


@perspective.cpu
def _cpu(call: op.Call) -> None:
    maps = _maps(call)
    if call["compat"] == "torchvision":
        warp_tensors(call, maps, projective=True)
        return

    def change(image: Any, sample: int, filter: Any, fill: Any) -> Any:
        numbers, method = maps[sample].reshape(-1)[:8].tolist(), pillow.Transform.PERSPECTIVE
        return image.transform(image.size, method, numbers, filter, fillcolor=fill)

    warp_pictures(call, change)


@perspective.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (2, 5, 3), (9, 2, 3))
    planes = op.samples((4, 5, 6), (4, 3, 3), layout="CHW", dtype=op.float32)
    same = images.arrays()
    corners, moved = (0, 0, 7, 0, 7, 5, 0, 5), (1, 1, 8, 1, 8, 6, 1, 6)
    bent = (1, 0.5, 6, 0, 7, 4, 0.5, 5)
    shifted = []
    for array in same:
        target = np.full_like(array, 9)
        target[1:, 1:] = array[:-1, :-1]
        shifted.append(target)
    given: Any = {"startpoints": corners}
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    return [
        op.case("nothing", images, **given, endpoints=corners, **nearest).equals(same).no_oracle(),
        op.case("moved", images, **given, endpoints=moved, fill_value=9, **nearest)
        .equals(shifted)
        .no_oracle(),
        op.case("bent", images, **given, endpoints=bent).no_oracle(),
        op.case("per sample", images, **given, endpoints=[bent, moved, corners]).no_oracle(),
        op.case("planes", planes, **given, endpoints=bent, fill_value=(1, 2, 3, 4)).no_oracle(),
        op.case("of Pillow", images, **given, endpoints=bent, compat="pil").no_oracle(),
        op.case("empty", op.samples(), **given, endpoints=bent).equals([]).no_oracle(),
        op.case("six numbers", images, **given, endpoints=bent[:6]).value_error("`endpoints`"),
        op.case("one point", images, **given, endpoints=(1, 1) * 4).value_error("`endpoints`"),
        op.case("no number", images, **given, endpoints=[np.nan] * 8).value_error("`endpoints`"),
        op.case("unknown", images, **given, endpoints=bent, compat="zork").value_error("`compat`"),
        op.case("shifted", images, coefficients=(1, 0, -1, 0, 1, -1, 0, 0), fill_value=9, **nearest)
        .equals(shifted)
        .no_oracle(),
        op.case("no points", images, **given).value_error("`endpoints`"),
        op.case("both", images, **given, endpoints=bent, coefficients=bent).value_error("both"),
        op.case("layout", op.samples((3, 4, 5), layout="WHC"), **given, endpoints=bent).type_error(
            "layout"
        ),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.int16), **given, endpoints=bent).type_error(
            "int16"
        ),
    ]
