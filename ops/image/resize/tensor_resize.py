"""`tensor_resize`: resample any axes of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.ops.image.crop_window import named_axes

from .arguments import (
    ResizeBuffers,
    ResizeFilters,
    ResizeRegion,
    TensorResize,
    filters_of,
    per_axis,
)
from .gpu import resample_call
from .resize import DTYPES
from .run import Tables, resample_samples, whole_tables
from .shapes import resize_geometry

_MOST = 3
_FARTHEST = 2.0**31


@op.operator("tensor_resize", schema="TensorResize", formerly=("experimental.tensor_resize",))
@op.uses_arguments(..., ResizeRegion, ResizeFilters, "dtype", ResizeBuffers)
def tensor_resize(
    input: op.SampleType,
    /,
    *,
    sizes: op.FloatsArg | None = None,
    scales: op.FloatsArg | None = None,
    axes: op.Ints | None = None,
    axis_names: str | None = None,
    mode: str | None = None,
    max_size: op.Floats | None = None,
    size_rounding: str = "round",
    subpixel_scale: bool = True,
    alignment: op.FloatsArg = 0.5,
    dtype: op.DTypeLike | None = None,
    **options: op.Unpack[TensorResize],
) -> op.SampleType:
    """Resize samples of any rank and layout along some of their axes.

    Axes whose extents do not change are left alone. Of the others at most three can be resampled.
    `sizes`, `scales`, `alignment`, `roi_*` and filters may differ per sample.

    Args:
        input: uint8, int8, uint16, int16 or float32, at least 1-D.
        axes: which axes the numbers are about, negative ones counted from the end.
        axis_names: the letters of the axes in the layout, in place of `axes`; all axes if neither
            is given. One number stands for all of them.
        sizes: the new extents, in elements.
        scales: the factors of the extents, in place of `sizes`.
        mode, max_size, dtype: as in `resize`; they, the region and filters are about these axes
            alone.
        size_rounding: the rounding of extents that are not integers: "round" (half up), "truncate"
            or "ceil".
        subpixel_scale: adjust the source region so that rounding does not change the scale.
        alignment: the place in the region that stays where it is then: 0 the low end, 1 the high
            end.

    Returns:
        Samples of the new extents.

    Raises:
        OperatorValueError: for axes that are not there, and for sizes that contradict each other.

    Example:
        volume = np.zeros((40, 64, 64), np.float32)
        gradiva.tensor_resize(volume, sizes=(20, 32, 32)).shape  # (20, 32, 32)
    """
    op.require_dtype(input, DTYPES)
    result = own_or_float32(input, dtype)
    if axes is not None and axis_names is not None:
        raise op.OperatorValueError("`axes` and `axis_names` exclude each other")
    if input.ndim == 0:
        raise op.OperatorTypeError("the input", expected="at least 1-D samples", got="0-D samples")
    return result


def _axes(call: op.Call, ndim: int) -> list[int]:
    names, axes = call["axis_names"] or None, call["axes"]
    if names is None and not axes:
        return list(range(ndim))
    return named_axes(call.inputs[0].type.layout or "", ndim, names, axes)


@dataclass(frozen=True)
class _TensorResizePlan(op.Plan):
    """tables: those of the kernels."""

    tables: Tables


@tensor_resize.shapes
def _shapes(call: op.Call) -> _TensorResizePlan:
    shapes = call.inputs[0].batch_shape.shapes
    axes = _axes(call, shapes.shape[1])
    inputs, count = shapes[:, axes], len(axes)
    if (call["sizes"] is None) == (call["scales"] is None):
        got = "none of them" if call["sizes"] is None else "both"
        raise op.OperatorValueError(f"give exactly one of `sizes` and `scales`; got {got}")
    wanted = per_axis(call, "sizes", count)
    if wanted is None:
        # In float32, like all sizes before they are rounded.
        factors = per_axis(call, "scales", count).astype(np.float32)
        if not (np.abs(factors) <= _FARTHEST).all():
            raise op.OperatorValueError(argument="scales", expected="finite numbers")
        wanted = (factors * inputs.astype(np.float32)).astype(np.float64)
    alignment = per_axis(call, "alignment", count)
    if not (np.abs(alignment) <= 1 << 16).all():
        raise op.OperatorValueError(argument="alignment", expected="numbers from 0 to 1")
    names = ("max_size", "roi_start", "roi_end")
    sizes, low, high = resize_geometry(
        inputs,
        size=wanted,
        **{name: per_axis(call, name, count) for name in names},
        mode=call["mode"],
        subpixel_scale=call["subpixel_scale"],
        roi_relative=call["roi_relative"],
        size_rounding=call["size_rounding"],
        alignment=None if (alignment == 0.5).all() else alignment,
    )
    result = shapes.copy()
    result[:, axes] = sizes
    regions = np.zeros((*shapes.shape, 2))
    regions[:, :, 1] = shapes
    regions[:, axes, 0], regions[:, axes, 1] = low, high
    return _TensorResizePlan(result, _tables(call, shapes, result, regions))


def _tables(call: op.Call, shapes: op.Int64Array, sizes: op.Int64Array, regions: Any) -> Tables:
    """The tables of the kernels: axes that change, and those between them, are what it resamples;
    those before are planes, those after are channels."""
    ndim = shapes.shape[1]
    same = (shapes == sizes) & (regions[:, :, 0] == 0) & (regions[:, :, 1] == shapes)
    changed = [axis for axis in range(ndim) if not same[:, axis].all()] or [ndim - 1]
    first, last = changed[0], changed[-1]
    groups: list[list[int]] = []
    for axis in range(first, last + 1):
        if groups and axis not in changed and groups[-1][0] not in changed:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if len(groups) == 1 and last < ndim - 1:
        # Rows that are blended are faster than pixels of many channels.
        groups.append(list(range(last + 1, ndim)))
        last = ndim - 1
    if len(groups) > _MOST:
        raise op.OperatorValueError(
            "too many axes change",
            expected=f"at most {_MOST}, those that lie between them included",
            got=str(len(groups)),
        )
    before = np.stack([shapes[:, group].prod(axis=1) for group in groups], axis=1)
    after = np.stack([sizes[:, group].prod(axis=1) for group in groups], axis=1)
    count = len(groups)
    low, high = np.zeros(before.shape), before.astype(np.float64)
    for number, group in enumerate(groups):
        if group[0] in changed:
            low[:, number], high[:, number] = regions[:, group[0], 0], regions[:, group[0], 1]
    filters = filters_of(call, after, low, high)
    filters[:, 4] = max(count, 2)
    for number, group in enumerate(groups):
        if same[:, group[0]].all():
            filters[:, 3 - count + number] = int(op.InterpType.INTERP_NN)
    planes, channels = shapes[:, :first].prod(axis=1), shapes[:, last + 1 :].prod(axis=1)
    source = call.inputs[0].batch_shape
    return whole_tables(source, planes, channels, before, after, (low, high), filters)


@tensor_resize.cpu
def _cpu(call: op.Call, plan: _TensorResizePlan) -> None:
    resample_samples(call, plan.tables)


@tensor_resize.gpu
def _gpu(call: op.Call, plan: _TensorResizePlan) -> list[op.Launch]:
    return resample_call(call, plan.tables)


@tensor_resize.cases
def _cases() -> list[op.Case]:
    images = op.samples((12, 16, 3), (9, 7, 3), (2, 30, 3))
    planes = op.samples((3, 8, 6), (3, 5, 5), dtype=op.float32, layout="CHW")
    volume = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.int16)
    audio = op.samples((9,), (4,), layout="", dtype=op.float32)
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    region: Any = {"roi_start": (0.9, 0.1), "roi_end": (0.2, 0.8), "roi_relative": True}
    return [
        op.case("nothing changes", images, scales=1).equals([images.at(i) for i in range(3)]),
        op.case("twice, nearest", planes, scales=2, axes=(1, 2), **nearest).equals(
            [planes.at(i).repeat(2, 1).repeat(2, 2) for i in range(2)]
        ),
        op.case("names", images, sizes=(5, 6), axis_names="WH"),
        op.case("one axis", audio, sizes=[[5], [7]]),
        op.case("alignment", audio, scales=0.3, alignment=0.0),
        op.case("channels", volume, sizes=4, axes=-1, **nearest).equals(
            [volume.at(0).repeat(2, 3)]
        ),
        op.case("not adjacent", volume, sizes=(3, 4), axes=(0, 2), interp_type=4),
        op.case("region, mirrored", images, sizes=(6, 6), axes=(0, 1), **region),
        op.case(
            "rounded up", images, scales=0.3, axes=(0, 1), size_rounding="ceil", dtype=op.float32
        ),
        op.case("empty", op.samples(), sizes=(4, 4, 3)).equals([]),
        op.case("no size", images).value_error("exactly one"),
        op.case("no such axis", images, sizes=4, axes=(0, 3)).value_error("`axes`"),
        op.case("no such name", images, sizes=4, axis_names="D").value_error("`axis_names`"),
        op.case("two sizes", images, sizes=(4, 4), axes=(0, 1, 2)).value_error("`sizes`"),
        op.case("four axes", volume, sizes=4).value_error("at most 3"),
        op.case("rounding", images, sizes=4, size_rounding="floor").value_error("`size_rounding`"),
        op.case("bad dtype", op.samples((4, 4, 3), dtype=op.float64), sizes=4).type_error(
            "float64"
        ),
    ]
