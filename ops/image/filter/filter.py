"""`filter`: weighted sums of the pixels around each pixel, with weights of one's own."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.types.arrays import Array

from .blur_windows import filtered_axes
from .borders import border_named, pad
from .correlate import at_once, correlate_inside
from .filter_gpu import filter_launch

_MODES: Final = ("same", "valid")
_SMALLER: Final = ("the filter is larger than the sample", "a smaller filter in mode 'valid'")


@op.operator("filter", schema="Filter", formerly=("experimental.filter",), inputs=(2, 3))
def filter(
    input: op.SampleType,
    filter: Any,
    fill_value: Any = None,
    /,
    *,
    anchor: op.IntsArg = -1,
    border: str = "reflect_101",
    dtype: op.DTypeLike | None = None,
    mode: str = "same",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Filter samples with given weights.

    This is a correlation: out[y, x] = sum of filter[i, j] * in[y + i - a, x + j - b]. Sums are
    float32; OpenCV computes those of 2-D filters, large ones by Fourier transforms, and rounds
    halves of them to even for 8 and 16 bit integers. Other results are rounded half away from zero.
    Values saturate.

    Args:
        input: uint8, int8, uint16, int16, float16 or float32; layouts HW, HWC, CHW, DHW, DHWC, CDHW
            and sequences of these; H, W and D may be other letters. Without a layout all axes, 2 or
            3, are filtered.
        filter: float32 weights of each sample, (r, s), or (q, r, s) for volumes.
        fill_value: one number per sample, for border="constant"; 0 by default.
        anchor: (a, b), or (d, a, b) for volumes, or one number for all axes: which weight stands
            over the pixel; may differ per sample. -1: the middle one, extent // 2.
        border: "reflect_101" mirrors without the outermost pixel, "reflect_1001" with it, "wrap"
            goes on at the other end, "clamp" repeats the outermost pixel, "constant" takes
            `fill_value`. Other names of these: "101", "1001", "reflect"; "edge"; "fill", "pad".
        mode: "same": outputs are as large as inputs. "valid": only where the filter lies inside the
            sample; `anchor` and `border` are not needed.
        dtype: the element type of the output: float32 or that of the input, which is the default.

    Returns:
        Samples of the input's shapes, or smaller ones by the filter's extent - 1.

    Raises:
        OperatorTypeError: for other dtypes, layouts and ranks.
        OperatorValueError: for anchors outside of the filter, empty filters, and filters larger
            than the sample in mode "valid".

    Example:
        sharpen = np.float32([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
        image = gradiva.filter(gradiva.imread("cat.jpg"), sharpen)
    """
    op.require_dtype(input, (op.uint8, op.int8, op.uint16, op.int16, op.float16, op.float32))
    op.require_dtype(filter, (op.float32,), "the filter")
    if input.layout == "":
        op.require_ndim(input, (2, 3))
    else:
        filtered_axes(input.layout, (2, 3))
    if input.layout is not None and input.ndim is not None:
        op.require_ndim(filter, (_axes(input.layout, input.ndim),), "the filter of this input")
    if fill_value is not None:
        op.require_ndim(fill_value, (0,), "the fill value")
    border_named(border)
    if mode not in _MODES:
        raise op.wrong_value("mode", " or ".join(_MODES), repr(mode))
    return own_or_float32(input, dtype)


def _axes(layout: str, ndim: int) -> int:
    """How many axes are filtered."""
    if not layout:
        return ndim
    first, last = filtered_axes(layout, (2, 3))
    return last - first


def _first(layout: str) -> int:
    """The first axis that is filtered."""
    return filtered_axes(layout, (2, 3))[0] if layout else 0


filter.libraries = ("opencv-python-headless",)


@filter.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    source, windows = call.inputs[0], call.inputs[1].batch_shape.shapes
    shapes = source.batch_shape.shapes.copy()
    axes, first = windows.shape[1], _first(source.layout)
    anchors = _anchors(call, axes)
    valid = call["mode"] == "valid"
    inside = shapes[:, first : first + axes]
    outside = ((anchors < -1) | (anchors >= windows)) & (not valid)
    for bad, argument, problem, expected, got in (
        (windows < 1, "", "the filter is empty", "1 or more weights along each axis", windows),
        ((windows > inside) & valid, "", *_SMALLER, windows),
        (outside, "anchor", "", "-1, or a place in the filter", anchors),
    ):
        op.refuse_samples(bad.any(axis=1), argument, expected, got, problem)
    if valid:
        shapes[:, first : first + axes] = inside - windows + 1
    return shapes


@filter.coordinate_map
def _map(call: op.Call) -> Any:
    axes = len(op.spatial_axes(call.inputs[0].layout))
    shift = np.zeros((call.size, axes))
    if call["mode"] == "valid":
        shift -= (call.inputs[1].batch_shape.shapes[:, ::-1] - 1) / 2
    return op.axis_map(1.0, shift)


def _anchors(call: op.Call, axes: int) -> op.Int64Array:
    given: op.Int64Array = call["anchor"]
    if given.shape[1] not in (1, axes):
        raise op.wrong_value(
            "anchor", f"one number or {axes}, one per axis of the filter", given.shape[1]
        )
    return np.broadcast_to(given, (call.size, axes))


@filter.cpu
def _cpu(call: op.Call) -> None:
    source, windows, target = call.inputs[0], call.inputs[1], call.outputs[0]
    anchors = _anchors(call, windows.batch_shape.ndim)
    valid, border = call["mode"] == "valid", border_named(call["border"])
    fills: list[Any] = [0] * call.size
    if len(call.inputs) > 2:
        given = call.inputs[2]
        fills = [
            convert_array(np.asarray(given.array(i)), source.data.dtype)[()]
            for i in range(call.size)
        ]
    first, axes = _first(source.layout), windows.batch_shape.ndim
    middles = np.where(anchors < 0, windows.batch_shape.shapes // 2, anchors)
    places = (np.zeros_like(middles) if valid else middles).tolist()
    images, weights, results = source.arrays(), windows.arrays(), target.arrays()

    def correlate(sample: int) -> None:
        image, window, result = images[sample], weights[sample], results[sample]
        if result.size == 0:
            return
        before = places[sample]
        plain = not valid and (border != "constant" or not fills[sample])
        if plain and first == 0 and at_once(image, window, before, border, result):
            return
        extents = image.shape[first : first + axes]
        channels = image.shape[first + axes :]
        after = [size - 1 - low for size, low in zip(window.shape, before, strict=True)]
        if valid:
            after = [0] * axes
        inner = result.shape[first : first + axes]
        planes = image.reshape((-1, *extents, *channels))
        parts = result.reshape((-1, *inner, *channels))
        for plane, out in zip(planes, parts, strict=True):
            if not plain or not at_once(plane, window, before, border, out):
                padded = pad(plane, before, after, border, fills[sample])
                correlate_inside(padded, window, out)

    call.each_sample(correlate, source.batch_shape.volumes.tolist())


# OpenCV adds the same products in other orders, by fused steps or by Fourier transforms, as the
# machine has it. For values of some hundreds that is below this tolerance; where terms cancel out,
# results of larger ones may differ by more, in units of the last place of the terms.
@filter.gpu_within(1e-4)
def _gpu(call: op.Call) -> op.Launch:
    anchors = _anchors(call, call.inputs[1].batch_shape.ndim)
    return filter_launch(call, _first(call.inputs[0].layout), anchors)


def _filters(*arrays: Any) -> op.Batch:
    return op.batch([np.asarray(array, np.float32) for array in arrays])


def _expected(image: Array, window: Any, border: str = "reflect") -> Array:
    """By sums over shifted copies, of whole numbers."""
    weights = np.asarray(window, np.int64)
    mode: Any = border
    padded = np.pad(
        image.astype(np.int64),
        [(size // 2, size - 1 - size // 2) for size in weights.shape]
        + [(0, 0)] * (image.ndim - weights.ndim),
        mode,
    )
    total = np.zeros(image.shape, np.int64)
    for place, weight in np.ndenumerate(weights):
        cut = tuple(slice(k, k + n) for k, n in zip(place, image.shape, strict=False))
        total += weight * padded[cut]
    limits = np.iinfo(image.dtype)
    return np.clip(total, limits.min, limits.max).astype(image.dtype)


@filter.cases
def _cases() -> list[op.Case]:
    images = op.samples((9, 8, 3), (5, 7, 3), (6, 11, 3))
    volumes = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.int16, low=-99, high=99)
    planes = op.samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=op.int16, low=-99, high=99)
    edges, wide = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], [[1, 2, -3, 1]]
    three = _filters(edges, wide, [[2]])
    two = _filters(edges, wide)
    deep = np.arange(12).reshape(2, 3, 2) - 5
    floats = op.samples((7, 7), layout="HW", dtype=op.float32)
    return [
        op.case("per sample", images, three).equals(
            [_expected(images.at(i), w) for i, w in enumerate((edges, wide, [[2]]))]
        ),
        op.case("clamp", planes, two, border="clamp").equals(
            [
                _expected(planes.at(i).transpose(1, 2, 0), w, "edge").transpose(2, 0, 1)
                for i, w in enumerate((edges, wide))
            ]
        ),
        op.case("volume", volumes, _filters(deep), border="wrap")
        .equals([_expected(volumes.at(0), deep, "wrap")])
        .no_oracle(),
        op.case("valid", images, three, mode="valid"),
        op.case("anchor", images, three, anchor=0, border="reflect_1001"),
        op.case("1001", images, three, border="1001"),
        op.case("edge", images, three, border="Edge"),
        op.case("other letters", op.samples((5, 7, 3), (4, 4, 2), layout="ABC"), two),
        op.case("fill", floats, _filters(edges), op.batch([np.float32(3)]), border="constant"),
        op.case("to float", images, three, dtype=op.float32),
        op.case(
            "int8", op.samples((6, 7), dtype=op.int8, layout="HW"), _filters(edges)
        ).no_oracle(),
        op.case(
            "half", op.samples((6, 7), dtype=op.float16, layout="HW"), _filters(edges)
        ).no_oracle(),
        op.case("frames", op.samples((2, 6, 7, 3), layout="FHWC"), _filters(wide)),
        op.case("no layout", op.samples((6, 7), layout=""), _filters(wide)),
        op.case("empty", op.samples(), op.batch(np.empty((0, 3, 3), np.float32))).equals([]),
        op.case("outside", images, three, anchor=3).value_error("`anchor`"),
        op.case("rank", images, _filters(deep, deep, deep)).type_error("the filter"),
        op.case("integers", images, op.batch([np.ones((3, 3), np.int32)] * 3)).type_error(
            "float32"
        ),
        op.case("too large", images, _filters(*[np.ones((6, 6))] * 3), mode="valid").value_error(
            "larger"
        ),
        op.case("border", images, three, border="mirror").value_error("`border`"),
        op.case("dtype", op.samples((4, 4, 3), dtype=op.int32), _filters(edges)).type_error(
            "int32"
        ),
    ]
