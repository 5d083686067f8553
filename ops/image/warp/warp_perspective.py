"""`experimental.warp_perspective`: images under a projective map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import MatrixArg
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Float32Array, Float64Array
from gradiva.eager.types.coordinate_maps import gathers
from gradiva.ops.transforms.affine import matrix_product

from .warp import (
    MatrixPlan,
    check_matrices,
    gather_or_black,
    input_matrices,
    matrices_given,
    moved_by,
    out_sizes,
    warp_matrices,
)
from .warp_perspective_gpu import perspective_launches

_LAYOUTS: Final = ("HW", "HWC", "FHWC", "CHW", "FCHW")
_ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}
_BORDERS: Final = {
    "constant": "BORDER_CONSTANT", "replicate": "BORDER_REPLICATE", "reflect": "BORDER_REFLECT",
    "reflect_101": "BORDER_REFLECT_101", "wrap": "BORDER_WRAP",
}  # fmt: skip
_FILTERS: Final = {0: "INTER_NEAREST", 1: "INTER_LINEAR", 2: "INTER_CUBIC"}
_MOST_FOLDS: Final = 1e8
_TO_CENTERS: Final = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]], np.float32)
_TO_CORNERS: Final = np.array([[1, 0, -0.5], [0, 1, -0.5], [0, 0, 1]], np.float32)


def check_pixel_origin(pixel_origin: str) -> None:
    """Refuse what is no pixel origin."""
    if pixel_origin not in ("corner", "center"):
        raise op.wrong_value("pixel_origin", "'corner' or 'center'", repr(pixel_origin))


@op.operator(
    "experimental.warp_perspective",
    schema="experimental__WarpPerspective",
    inputs=(1, 2),
    frames=("matrix", "1"),
)
def warp_perspective(
    input: op.SampleType,
    matrix_input: op.SampleType | op.Value | None = None,
    /,
    *,
    matrix: MatrixArg | None = None,
    inverse_map: bool = True,
    size: op.FloatsArg | None = None,
    border_mode: str = "constant",
    fill_value: op.Floats | None = None,
    interp_type: op.InterpTypeLike = op.InterpType.INTERP_LINEAR,
    pixel_origin: str = "corner",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Warp images by a projective map, as OpenCV's warpPerspective does.

    Args:
        input: uint8, uint16, int16 or float32; layouts HW, HWC, CHW, FHWC, FCHW. Without a layout
            HW, HWC or FHWC by rank, and the output has that layout.
        matrix_input: float32 matrices (3, 3), for sequences also (F, 3, 3).
        matrix: instead, as 9 numbers row by row, or such matrices; may differ per sample. They take
            (x, y, 1) of the output to w * (x, y, 1) of the input; with `inverse_map` False, from
            input to output.
        inverse_map: whether the matrix leads from the output to the input.
        size: (h, w) of the output, or one number for both; rounded half up, at least 1; the input's
            by default. May differ per sample.
        border_mode: what is outside of the input: "constant", "replicate" (aaa|abc), "reflect"
            (cba|abc), "reflect_101" (dcb|abcd), "wrap" (bcd|abcd).
        fill_value: the value of the constant border: one number or one for each channel; 0 by
            default.
        interp_type: INTERP_NN, INTERP_LINEAR or INTERP_CUBIC.
        pixel_origin: whether (0, 0) is the "corner" or the "center" of the first pixel.

    Returns:
        Images of the size `size`, of the input's dtype.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for matrices of another size, matrices that are not finite or lack the
            inverse that is asked for, samples without pixels, and maps that go so far out that
            reflecting them would take very long.

    Example:
        image = gradiva.imread("cat.jpg")
        matrix = [1.0, 0.2, -30.0, 0.1, 1.0, -20.0, 0.0, 0.0005, 1.0]
        image = gradiva.experimental.warp_perspective(image, matrix=matrix)
    """
    op.require_dtype(input, (op.uint8, op.uint16, op.int16, op.float32))
    check_matrices(matrix_input)
    check_pixel_origin(pixel_origin)
    if border_mode not in _BORDERS:
        raise op.wrong_value("border_mode", f"one of {', '.join(_BORDERS)}", repr(border_mode))
    if interp_type not in _FILTERS:
        raise op.wrong_value(
            "interp_type",
            "INTERP_NN, INTERP_LINEAR or INTERP_CUBIC",
            op.InterpType(int(interp_type)).name,
        )
    return op.with_layout(input, op.require_layout(input, _LAYOUTS, _ASSUMED))


def _centered(call: op.Call, matrices: Float32Array) -> Float32Array:
    """Matrices for places that count from centers of pixels. Raises OperatorValueError."""
    if not np.isfinite(matrices).all():
        raise op.OperatorValueError("the matrix holds a number that is not finite")
    if call["pixel_origin"] == "corner":
        matrices = matrix_product(_TO_CORNERS, matrix_product(matrices, _TO_CENTERS))
    if not call["inverse_map"] and (np.linalg.det(matrices.astype(np.float64)) == 0).any():
        raise op.OperatorValueError("the matrix has no inverse, which `inverse_map=False` asks for")
    return matrices


@dataclass(frozen=True)
class _WarpPerspectivePlan(MatrixPlan):
    """centered: the matrices that were given, for places that count from centers of pixels."""

    centered: Float32Array | None


warp_perspective.libraries = ("opencv-python-headless",)


@warp_perspective.shapes
def _shapes(call: op.Call) -> _WarpPerspectivePlan:
    layout = call.types[0].layout or ""
    shapes = call.inputs[0].batch_shape.shapes.copy()
    height = layout.index("H")
    extents = shapes[:, height : height + 2]
    op.refuse_samples((extents == 0).any(axis=1), "", "", extents, "the image has no pixels")
    given, places = warp_matrices(call, 3, 3)
    centered = None if given is None else _centered(call, given)
    sizes = out_sizes(call, extents, repeat=True)
    if sizes is not None:
        shapes[:, height : height + 2] = sizes
    return _WarpPerspectivePlan(shapes, given, places, centered)


@warp_perspective.coordinate_map
def _map(call: op.Call) -> Any:
    matrices = matrices_given(call, 3, 3).astype(np.float64)
    if call["pixel_origin"] == "center":
        forth, back = _TO_CENTERS.astype(np.float64), _TO_CORNERS.astype(np.float64)
        matrices = forth @ matrices @ back
    # The sign of a matrix means nothing: places are where w is above 0.
    layout = call.types[0].layout or ""
    own = call.batch_shapes[0] if call["inverse_map"] else call.inputs[0].batch_shape
    middle = np.ones((call.size, 3))
    middle[:, :2] = own.shapes[:, op.spatial_axes(layout)] / 2
    below = (matrices[:, 2] * middle).sum(axis=1)
    matrices = np.where((below < 0)[:, None, None], -matrices, matrices)
    return moved_by(call, matrices, call["inverse_map"])


def _fill(call: op.Call) -> Float64Array:
    """The fill value of each channel. Raises OperatorValueError."""
    layout, shapes = call.outputs[0].layout, call.outputs[0].batch_shape.shapes
    counts = shapes[:, layout.index("C")] if "C" in layout else np.ones(call.size, np.int64)
    given = call["fill_value"] or (0.0,)
    wrong = counts != len(given)
    if len(given) > 1 and wrong.any():
        expected = f"1 number, or {counts[wrong][0]}, one per channel"
        op.refuse_samples(wrong, "fill_value", expected, lambda _: len(given))
    values = np.asarray(given, np.float64)
    return np.resize(values, int(counts.max(initial=1))) if len(given) == 1 else values


def _check_folds(matrix: Any, shape: tuple[int, ...], size: tuple[int, ...], inverse: bool) -> None:
    """OpenCV reflects a coordinate fold by fold: refuse what would take it very long."""
    wide = matrix.astype(np.float64)
    if not inverse:
        wide = np.linalg.inv(wide)
    x, y = np.arange(size[1])[None, :], np.arange(size[0])[:, None]
    with np.errstate(all="ignore"):
        below = wide[2, 0] * x + wide[2, 1] * y + wide[2, 2]
        across = np.abs((wide[0, 0] * x + wide[0, 1] * y + wide[0, 2]) / below) / shape[1]
        down = np.abs((wide[1, 0] * x + wide[1, 1] * y + wide[1, 2]) / below) / shape[0]
    folds = sum(np.minimum(np.nan_to_num(part), 2.0**31).sum() for part in (across, down))
    if folds > _MOST_FOLDS:
        raise op.OperatorValueError(
            "the map goes too far out of the image to reflect it",
            argument="matrix",
            got=f"{folds:.0f} reflections",
        )


gathers["experimental.warp_perspective"] = gather_or_black


@warp_perspective.cpu
def _cpu(call: op.Call, plan: _WarpPerspectivePlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout
    matrices, places = plan.centered, plan.places
    if matrices is None:
        matrices = _centered(call, input_matrices(call, 3, 3))
    fill, mode = _fill(call), call["border_mode"]
    flags = int(getattr(cv2, _FILTERS[call["interp_type"]]))
    if call["inverse_map"]:
        flags |= int(cv2.WARP_INVERSE_MAP)
    border = getattr(cv2, _BORDERS[mode])
    planar = layout.endswith("CHW")

    def warp(sample: int) -> None:
        before, after = source.array(sample), target.array(sample)
        if not layout.startswith("F"):
            before, after = before[None], after[None]
        for frame in range(len(before)):
            matrix = matrices[places[sample, 0] + frame * places[sample, 1]]
            one, other = before[frame], after[frame]
            if not planar:
                one, other = one[None], other[None]
            size = other.shape[1:3]
            if mode.startswith("reflect"):
                _check_folds(matrix, one.shape[1:3], size, call["inverse_map"])
            for number, (plane, result) in enumerate(zip(one, other, strict=True)):
                values = fill[number : number + 1] if planar else fill
                count = plane.shape[2] if plane.ndim == 3 else 1
                for first in range(0, count, 4):
                    part = plane if count <= 4 else plane[:, :, first : first + 4]
                    where = result if count <= 4 else result[:, :, first : first + 4]
                    made = cv2.warpPerspective(
                        np.ascontiguousarray(part),
                        matrix.astype(np.float64),
                        size[::-1],
                        dst=where if count <= 4 else None,
                        flags=flags,
                        borderMode=border,
                        borderValue=tuple(values[first : first + 4].tolist()),
                    )
                    # OpenCV writes into what it was given, if that fits.
                    if not np.may_share_memory(made, where):
                        where[...] = made.reshape(where.shape)

    call.each_sample(warp, target.batch_shape.volumes.tolist())


# The places are those of OpenCV 5 with fused steps, which it takes in vectors only, and where the
# machine has them. In the last columns of a row, and on other machines, a value may differ by what
# changes within that of its place; of two pixels that are equally far the other may be the nearest.
@warp_perspective.gpu_within(1e-3)
def _gpu(call: op.Call, plan: _WarpPerspectivePlan) -> list[op.Launch]:
    fill = _fill(call)
    kind = call.inputs[0].dtype.numpy
    if kind.kind != "f":
        limits = np.iinfo(kind)
        fill = np.clip(np.rint(fill), limits.min, limits.max)
    return perspective_launches(call, plan.matrices, plan.places, fill.astype(kind))


@warp_perspective.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (2, 5, 3), (9, 1, 3))
    planes = op.samples((3, 6, 5), (3, 2, 2), layout="CHW", dtype=op.float32)
    same = [images.at(i) for i in range(3)]
    identity = (1, 0, 0, 0, 1, 0, 0, 0, 1)
    shift = (1, 0, 1, 0, 1, 0, 0, 0, 1)
    some = (0.9, 0.1, 0.5, -0.2, 1.1, 0.3, 0.01, 0.02, 1)
    filled = [np.concatenate([a[:, 1:], np.zeros_like(a[:, :1])], axis=1) for a in same]
    for array in filled:
        array[:, -1] = (7, 8, 9)
    each = np.tile(np.eye(3, dtype=np.float32), (3, 1, 1))
    wide = op.samples((4, 4, 6), dtype=op.int16)
    return [
        op.case("identity", images, matrix=identity).equals(same),
        op.case("fill", images, matrix=shift, fill_value=(7, 8, 9)).equals(filled),
        op.case("some", images, matrix=some, size=(7, 4)),
        op.case("per sample", images, matrix=each, size=2),
        op.case("planes", planes, matrix=some, border_mode="reflect"),
        op.case(
            "center", images, matrix=some, pixel_origin="center", interp_type=2, border_mode="wrap"
        ),
        op.case("back", images, matrix=some, inverse_map=False, fill_value=9),
        op.case("gray", op.samples((5, 6), layout="HW"), matrix=some, fill_value=3),
        op.case("sequence", op.samples((2, 5, 6, 1), layout="FHWC"), matrix=some),
        op.case("six channels", wide, matrix=identity).equals([wide.at(0)]).no_oracle(),
        op.case("empty", op.samples(), matrix=identity).equals([]),
        op.case("no matrix", images).value_error("one matrix"),
        op.case("affine", images, matrix=identity[:6]).value_error("`matrix`"),
        op.case("border", images, matrix=some, border_mode="none").value_error("`border_mode`"),
        op.case("origin", images, matrix=some, pixel_origin="top").value_error("`pixel_origin`"),
        op.case("fill of another length", images, matrix=some, fill_value=(1, 2)).value_error(
            "`fill_value`"
        ),
        op.case(
            "far", images, matrix=(1e6, 0, 0, 0, 1e9, 0, 0, 0, 1), border_mode="reflect"
        ).value_error("`matrix`"),
        op.case("singular", images, matrix=[1] * 9, inverse_map=False).value_error("inverse"),
        op.case("no number", images, matrix=[np.nan] * 9).value_error("finite"),
        op.case("lanczos", images, matrix=some, interp_type=3).value_error("`interp_type`"),
        op.case("layout", op.samples((3, 4, 5), layout="WHC"), matrix=some).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64), matrix=some).type_error("dtype"),
    ]
