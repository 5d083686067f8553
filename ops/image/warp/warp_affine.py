"""`warp_affine`: images under an affine map."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import MatrixArg
from gradiva.eager.types.coordinate_maps import gathers

from .gpu import affine_launch
from .warp import (
    MatrixPlan,
    Warp,
    WarpOptions,
    check_has_pixels,
    check_matrices,
    extents_of,
    gather_by_matrix,
    input_matrices,
    inverse,
    matrices_given,
    moved_by,
    out_shapes,
    out_sizes,
    run_affine,
    warp_matrices,
    warp_type,
)


@op.operator(
    "warp_affine",
    schema="WarpAffine",
    inputs=(1, 2),
    frames=("matrix", "1"),
    old_arguments={"output_dtype": "dtype"},
)
@op.uses_arguments(WarpOptions)
def warp_affine(
    input: op.SampleType,
    matrix_input: op.SampleType | op.Value | None = None,
    /,
    *,
    matrix: MatrixArg | None = None,
    inverse_map: bool = True,
    **options: op.Unpack[Warp],
) -> op.SampleType:
    """Warp images or volumes by an affine map.

    Places are computed in float32 (see `warp_affine_cpu`); those that are not a number are outside,
    or pixel 0.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32; layouts HWC, FHWC, DHWC, FDHWC. Without
            a layout HWC, FHWC or FDHWC by rank, and the output has that layout.
        matrix_input: float32 matrices (2, 3), for volumes (3, 4); for sequences also one for each
            frame, (F, 2, 3).
        matrix: instead, as 6 or 12 numbers row by row, or such matrices; may differ per sample.
            They take (x, y) or (x, y, z) of the output, in pixels from the corner of the first one,
            to the place in the input; with `inverse_map` False, from input to output.
        inverse_map: whether the matrix leads from the output to the input.
        size: by default the size of the input.

    Returns:
        Samples of the size `size`, of `dtype`.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for matrices of another size, for matrices without the inverse that is
            asked for, and for samples without pixels if nothing fills.

    Example:
        image = gradiva.imread("cat.jpg")
        matrix = gradiva.transforms.rotation(angle=30.0, center=(225, 150))
        image = gradiva.warp_affine(image, matrix=matrix, inverse_map=False, fill_value=0)
    """
    check_matrices(matrix_input)
    return warp_type(input, options)


@warp_affine.shapes
def _shapes(call: op.Call) -> MatrixPlan:
    extents = extents_of(call)
    axes = extents.shape[1]
    matrices, places = warp_matrices(call, axes, axes + 1)
    if matrices is not None and not call["inverse_map"]:
        matrices = inverse(matrices)
    given = out_sizes(call, extents, cut=True)
    sizes = extents if given is None else given
    check_has_pixels(call, sizes, call["fill_value"] is not None)
    return MatrixPlan(out_shapes(call, sizes), matrices, places)


@warp_affine.coordinate_map
def _map(call: op.Call) -> Any:
    axes = extents_of(call).shape[1]
    return moved_by(call, matrices_given(call, axes, axes + 1), call["inverse_map"])


gathers["warp_affine"] = gather_by_matrix


@warp_affine.cpu
def _cpu(call: op.Call, plan: MatrixPlan) -> None:
    matrices = plan.matrices
    if matrices is None:
        axes = extents_of(call).shape[1]
        matrices = input_matrices(call, axes, axes + 1)
        matrices = matrices if call["inverse_map"] else inverse(matrices)
    run_affine(call, matrices, plan.places)


@warp_affine.gpu
def _gpu(call: op.Call, plan: MatrixPlan) -> op.Launch:
    if plan.matrices is None and not call["inverse_map"]:
        raise op.OperatorRuntimeError("the matrices of an input are not inverted on the GPU")
    return affine_launch(call, plan.matrices, plan.places)


@warp_affine.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    volumes = op.samples((3, 4, 5, 2), (2, 2, 2, 2), layout="DHWC", dtype=op.float32)
    frames = op.samples((2, 4, 5, 3), (3, 3, 3, 3), layout="FHWC", dtype=op.int16)
    same = [images.at(i) for i in range(3)]
    identity = np.eye(2, 3, dtype=np.float32)
    shift = {"matrix": (1, 0, 1, 0, 1, 0)}
    moved = [np.concatenate([array[:, 1:], array[:, -1:]], axis=1) for array in same]
    filled = [array.copy() for array in moved]
    for array in filled:
        array[:, -1] = 7
    turned = [array[::-1, ::-1] for array in (volumes.at(0), volumes.at(1))]
    turn = np.array([[1, 0, 0, 0], [0, -1, 0, 4], [0, 0, -1, 3]], np.float32)
    turns = np.stack([turn, turn])
    turns[1, 1:, 3] = 2
    maps = op.samples((2, 3), (2, 3), (2, 3), layout="", dtype=op.float32)
    each = np.tile(identity, (3, 1, 1))
    wrong = op.samples((3, 3), (3, 3), (3, 3), layout="", dtype=op.float32)
    return [
        op.case("identity", images, matrix=(1, 0, 0, 0, 1, 0)).equals(same),
        op.case("shift", images, **shift).equals(moved),
        op.case("fill", images, **shift, fill_value=7).equals(filled),
        op.case("back", images, matrix=(1, 0, -1, 0, 1, 0), inverse_map=False).equals(moved),
        op.case("per sample", images, matrix=each, interp_type=0).equals(same),
        op.case("input", images, maps, size=(5, 7), fill_value=3),
        op.case("nearest", images, matrix=(0.7, 0.2, 1, -0.3, 0.8, 2), interp_type=0),
        op.case("to float", images, matrix=(0.7, 0.2, 1, -0.3, 0.8, 2), dtype=op.float32),
        op.case("sizes", images, **shift, size=[[2.9, 3], [4, 1.5], [9, 9]]),
        op.case("volumes", volumes, matrix=turns, interp_type=0).equals(turned),
        op.case("linear volumes", volumes, matrix=turns).equals(turned),
        op.case("sequence", frames, matrix=(0.7, 0.2, 1, -0.3, 0.8, 2)),
        op.case("empty", op.samples(), **shift).equals([]),
        op.case("no matrix", images).value_error("one matrix"),
        op.case("both", images, maps, **shift).value_error("exclude"),
        op.case("five", images, matrix=(1, 0, 0, 0, 1)).value_error("`matrix`"),
        op.case("wrong input", images, wrong).value_error("sample 0"),
        op.case("singular", images, matrix=(1, 1, 0, 1, 1, 0), inverse_map=False).value_error(
            "inverse"
        ),
        op.case("size", images, **shift, size=(0, 3)).value_error("`size`"),
        op.case("cubic", images, **shift, interp_type=2).value_error("`interp_type`"),
        op.case("no pixels", op.samples((0, 4, 1)), **shift, size=(2, 2)).value_error("fill_value"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW"), **shift).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64), **shift).type_error("dtype"),
        op.case("to uint64", images, **shift, dtype="uint64").type_error("`dtype`"),
    ]
