"""What the operators that warp by matrices share: layouts, sizes, matrices, the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.types.arrays import Float32Array, Float64Array, Int64Array
from gradiva.eager.types.coordinate_maps import Gather

from .warp_affine_cpu import warp_planes, warp_volumes

LAYOUTS: Final = ("HWC", "FHWC", "DHWC", "FDHWC")
_ASSUMED: Final = {3: "HWC", 4: "FHWC", 5: "FDHWC"}
_DTYPES: Final = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float32)
_LARGEST: Final = 1 << 24
"""Sizes beyond this are not exact in float32, in which places are computed."""


@op.argument_group(interp_type=op.InterpType.INTERP_LINEAR)
class WarpOptions(TypedDict, total=False):
    """
    Args:
        size: (h, w) or (d, h, w) of the output in pixels, rounded half up, at least 1; may differ
            per sample: then fractions are cut off, and 0 is allowed.
        fill_value: the value outside of the input, for all channels; without it, the nearest pixel
            of the input. Converted to the output's dtype; for linear interpolation then to the
            input's, and mixed in.
        interp_type: INTERP_LINEAR, between centers of pixels, or INTERP_NN, the pixel of that
            place.
        dtype: the element type of the output, one of the input's dtypes; that of the input by
            default. Rounded half away from zero, saturated.
    """

    size: op.FloatsArg | None
    fill_value: float | None
    interp_type: op.InterpTypeLike
    dtype: op.DTypeLike | None


class Warp(WarpOptions, op.Common, total=False):
    """What `warp_affine` and `rotate` take."""


def warp_type(input: op.SampleType, options: Warp) -> op.SampleType:
    """The type rule of `warp_affine` and `rotate`."""
    op.require_dtype(input, _DTYPES)
    check_interpolation(int(options["interp_type"]), "interp_type")
    dtype: Any = options["dtype"]
    if dtype is not None and dtype not in _DTYPES:
        names = ", ".join(one.name for one in _DTYPES)
        raise op.wrong_type("dtype", names, dtype)
    found = op.with_layout(input, op.require_layout(input, LAYOUTS, _ASSUMED))
    return found if dtype is None else found.with_(dtype=dtype)


def check_interpolation(interpolation: int, argument: str) -> None:
    """Refuse filters other than nearest neighbor and linear."""
    if interpolation not in (op.InterpType.INTERP_NN, op.InterpType.INTERP_LINEAR):
        raise op.wrong_value(
            argument, "INTERP_NN or INTERP_LINEAR", op.InterpType(interpolation).name
        )


def _first_axis(layout: str) -> int:
    """Where the spatial axes begin."""
    return 1 if layout.startswith("F") else 0


def out_sizes(
    call: op.Call, extents: Int64Array, *, repeat: bool = False, cut: bool = False
) -> Int64Array | None:
    """`size` in whole pixels, (N, axes); None if it was not given.

    repeat: one number serves all axes. cut: fractions of sizes given per sample are cut off, as in
    DALI, which rounds those given for all samples.
    """
    rows = call["size"]
    if rows is None or rows.shape[1] == 0:
        return None
    axes = extents.shape[1]
    if repeat and rows.shape[1] == 1:
        rows = np.broadcast_to(rows, (len(rows), axes))
    if rows.shape[1] != axes:
        raise op.wrong_value("size", f"{axes} numbers, channels not counted", rows.shape[1])
    cut = cut and "size" in call.edges
    bad = ~(((rows >= 0) if cut else (rows > 0)) & (rows <= _LARGEST)).all(axis=1)
    expected = f"numbers of pixels from {0 if cut else 1} to {_LARGEST}"
    op.refuse_samples(bad, "size", expected, rows)
    wide = rows.astype(np.float64)
    if cut:
        whole: Int64Array = wide.astype(np.int64)
        return whole
    # Less than half a pixel is one pixel, as in DALI.
    rounded: Int64Array = np.maximum(np.floor(wide + 0.5).astype(np.int64), 1)
    return rounded


def extents_of(call: op.Call) -> Int64Array:
    """The spatial extents of the samples, (N, 2) or (N, 3)."""
    first = _first_axis(call.types[0].layout or "")
    return call.inputs[0].batch_shape.shapes[:, first:-1]


def check_has_pixels(call: op.Call, sizes: Int64Array, filled: bool) -> None:
    """Refuse samples without pixels, where the nearest pixel is asked for."""
    source = call.inputs[0].batch_shape
    bad = (extents_of(call) == 0).any(axis=1) & (sizes > 0).all(axis=1)
    if not filled:
        problem = "there is no pixel to repeat: give `fill_value`"
        op.refuse_samples(bad, "", "", lambda i: f"a sample of shape {source.shape(i)}", problem)


def out_shapes(call: op.Call, sizes: Int64Array) -> Int64Array:
    """The shapes of the outputs: the inputs', with other spatial extents."""
    shapes = call.inputs[0].batch_shape.shapes.copy()
    first = _first_axis(call.types[0].layout or "")
    shapes[:, first:-1] = sizes
    return shapes


@dataclass(frozen=True)
class MatrixPlan(op.Plan):
    """matrices, places: as `warp_matrices` returns them; those of `matrix` as kernels take them."""

    matrices: Float32Array | None
    places: Int64Array


def warp_matrices(call: op.Call, rows: int, columns: int) -> tuple[Float32Array | None, Int64Array]:
    """The matrices of a call, (M, rows, columns), from `matrix`; None if the second input has them,
    whose values shape rules do not read. And, (N, 2), the first one of each sample, and whether
    each frame has its own."""
    size = rows * columns
    given = call["matrix"]
    given = None if given is None or (given[0:1].size == 0 and call.size) else given
    if (given is None) == (len(call.inputs) < 2):
        raise op.OperatorValueError(
            "one matrix is needed: `matrix`, or a second input"
            if given is None
            else "`matrix` and a second input exclude each other"
        )
    places = np.zeros((call.size, 2), np.int64)
    places[:, 0] = np.arange(call.size)
    if given is not None:
        fits = given.shape[1:] == (rows, columns) if given.ndim == 3 else given.shape[1] == size
        if not fits and call.size:
            raise op.wrong_value(
                "matrix", f"{size} numbers, {rows} rows of {columns}", f"shape {given.shape[1:]}"
            )
        return np.ascontiguousarray(given.reshape(-1, rows, columns)), places
    second, layout = call.inputs[1], call.types[0].layout or ""
    shapes = second.batch_shape.shapes
    wrong = (shapes[:, -2:] != (rows, columns)).any(axis=1)
    if second.batch_shape.ndim == 3:
        frames = call.inputs[0].batch_shape.shapes[:, 0] if layout.startswith("F") else -1
        wrong |= shapes[:, 0] != frames
        places[:, 1] = 1
        places[:, 0] = np.concatenate([[0], shapes[:-1, 0].cumsum()]) if call.size else 0
    expected = f"shape ({rows}, {columns}), or with one for each frame before it"
    problem = "the second input holds the wrong matrices"
    op.refuse_samples(wrong, "", expected, second.batch_shape.shape, problem)
    return None, places


def input_matrices(call: op.Call, rows: int, columns: int) -> Float32Array:
    """The matrices of the second input, (M, rows, columns)."""
    parts = [call.inputs[1].array(i).reshape(-1, rows, columns) for i in range(call.size)]
    if not parts:
        return np.zeros((0, rows, columns), np.float32)
    return np.ascontiguousarray(np.concatenate(parts))


def check_matrices(type: Any) -> None:
    """The type rule for a second input."""
    if not isinstance(type, op.SampleType):
        return
    op.require_dtype(type, (op.float32,), "the second input")
    if type.ndim is not None and type.ndim not in (2, 3):
        raise op.OperatorTypeError(
            "the second input holds matrices",
            expected="2-D samples, or 3-D ones for sequences",
            got=f"{type.ndim}-D samples",
        )


def inverse(matrices: Float32Array) -> Float32Array:
    """The inverse maps of [M T], in float64. Raises OperatorValueError for a singular one."""
    axes = matrices.shape[1]
    wide = np.zeros((len(matrices), axes + 1, axes + 1))
    wide[:, :axes] = matrices
    wide[:, axes, axes] = 1
    result = np.zeros_like(wide)
    for index, matrix in enumerate(wide):
        try:
            result[index] = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise op.OperatorValueError(
                "the matrix has no inverse, which `inverse_map=False` asks for",
                got=str(matrices[index].tolist()),
            ) from None
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(result[:, :axes].astype(np.float32))


def matrices_given(call: op.Call, rows: int, columns: int) -> Float32Array:
    """The matrices of a call as they were given, one for each sample, of calls with a `MatrixPlan`.
    Raises OperatorValueError for those that differ from frame to frame."""
    given, places = warp_matrices(call, rows, columns)
    if places[:, 1].any():
        raise op.OperatorValueError(
            "targets follow one matrix for each sample, and each frame has its own: give "
            "`per_frame` of them"
        )
    return input_matrices(call, rows, columns) if given is None else given


def moved_by(call: op.Call, matrices: Any, inverse_map: bool) -> Float64Array:
    """The coordinate map of matrices (N, axes, axes + 1) or (N, axes + 1, axes + 1), from the
    output to the input, or else from input to output. Raises OperatorValueError."""
    matrices = np.asarray(matrices, np.float64)
    axes = matrices.shape[2] - 1
    wide = np.zeros((call.size, axes + 1, axes + 1))
    wide[:, axes, axes] = 1
    wide[:, : matrices.shape[1]] = matrices
    if inverse_map:
        bad = np.asarray(~np.isfinite(wide).all(axis=(1, 2)))
        bad |= ~(np.abs(np.linalg.det(np.where(bad.reshape(-1, 1, 1), 0, wide))) > 0)
        op.refuse_samples(
            bad, "matrix", "a matrix with an inverse, by which targets move", matrices[:, 0]
        )
        wide = np.linalg.inv(wide)
    return wide


def gather_by_matrix(fixed: Mapping[str, Any]) -> Gather | None:
    """How a warp with these fixed arguments gathers pixels, see `gathers`."""
    given, filter = fixed.get("fill_value"), fixed.get("interp_type")
    filter = op.InterpType.INTERP_LINEAR if filter is None else int(filter)
    if filter not in (op.InterpType.INTERP_NN, op.InterpType.INTERP_LINEAR):
        return None
    if isinstance(given, tuple | list):
        given = given[0] if len(given) == 1 else "several"
    return Gather(True, int(filter), float(given)) if isinstance(given, int | float) else None


def gather_or_black(fixed: Mapping[str, Any]) -> Gather | None:
    """The same of a warp that fills with black, where nothing else is given."""
    if fixed.get("border_mode", "constant") != "constant":
        return None
    black = fixed.get("fill_value") in (None, (), [])
    return gather_by_matrix({**fixed, "fill_value": 0.0} if black else fixed)


class Filling(NamedTuple):
    """What there is outside of the input, if `filled`: for nearest neighbor and for linear."""

    filled: bool
    hard: Any
    soft: np.float32


def filling_of(call: op.Call) -> Filling:
    value = call["fill_value"]
    with np.errstate(over="ignore"):
        single = np.array([0.0 if value is None else value]).astype(np.float32)
    hard = convert_array(single, call.outputs[0].dtype.numpy)
    # Both conversions, in this order, as in DALI.
    both = convert_array(hard, call.inputs[0].dtype.numpy)
    return Filling(value is not None, hard[0], both.astype(np.float32)[0])


def framed(call: op.Call) -> tuple[Int64Array, Int64Array]:
    """The shapes of the inputs with frames first, and the spatial extents of the outputs."""
    layout, shapes = call.outputs[0].layout, call.inputs[0].batch_shape.shapes
    if not layout.startswith("F"):
        shapes = np.concatenate([np.ones((call.size, 1), np.int64), shapes], axis=1)
    sizes = call.outputs[0].batch_shape.shapes[:, _first_axis(layout) : -1]
    return np.ascontiguousarray(shapes), np.ascontiguousarray(sizes)


def run_affine(call: op.Call, matrices: Float32Array, places: Int64Array) -> None:
    """Fill the output: each pixel from where its sample's matrix takes it to."""
    kernel = warp_volumes if "D" in call.outputs[0].layout else warp_planes
    outside = (call["interp_type"] == op.InterpType.INTERP_LINEAR, *filling_of(call))
    call.for_samples(kernel, call.slabs, *framed(call), matrices, places, outside)
