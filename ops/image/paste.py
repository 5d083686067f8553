"""`paste`: samples on a larger canvas."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .crop import place_in_window
from .crop_window import LAYOUTS, WindowPlan, fill_array
from .window_copy import copy_windows, launch_windows

_MOST = 1 << 20


@op.operator("paste", schema="Paste")
def paste(
    input: op.SampleType,
    /,
    *,
    ratio: op.FloatArg,
    fill_value: op.Ints,
    paste_x: op.FloatArg = 0.5,
    paste_y: op.FloatArg = 0.5,
    min_canvas_size: op.FloatArg = 0.0,
    n_channels: int = 3,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Place each sample on a larger canvas.

    The numbers but `fill_value` and `n_channels` may differ per sample.

    Args:
        input: any dtype; layouts with H, W and C, volumes and sequences too (all slices and frames
            are pasted alike). Without a layout HWC, which the output has then.
        ratio: the canvas is `ratio` times as high and as wide as the sample, at least 1; fractions
            of pixels are dropped.
        min_canvas_size: the least height and width of the canvas, in pixels.
        n_channels: how many numbers `fill_value` has, if it has several.
        paste_x, paste_y: where the sample lies, from 0 (low end) to 1 (high end): it begins at
            trunc(position * (canvas - extent)).
        fill_value: the color of the canvas: one value, or `n_channels` of them, of which samples
            with fewer channels take the first ones. Cast to the input's dtype as in C.

    Returns:
        Samples of the size of the canvas, of the same dtype.

    Raises:
        OperatorValueError: for a ratio below 1, for positions outside 0..1 and for the wrong number
            of fill values.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.paste(image, ratio=2.0, fill_value=(124, 116, 104), n_channels=3).shape
        # (600, 902, 3)
    """
    count = len(fill_value) if isinstance(fill_value, tuple) else 1
    if count != 1 and count != n_channels:
        raise op.wrong_value("fill_value", f"1 value, or {n_channels}", count)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, {3: "HWC"}))


@paste.shapes
def _shapes(call: op.Call) -> WindowPlan:
    layout = call.types[0].layout or "HWC"
    shapes = call.inputs[0].batch_shape.shapes
    _check(call, "ratio", 1, _MOST)
    _check(call, "min_canvas_size", 0, 1 << 30)
    canvas, anchors = shapes.copy(), np.zeros_like(shapes)
    for letter, name in (("H", "paste_y"), ("W", "paste_x")):
        _check(call, name, 0, 1)
        axis = layout.index(letter)
        extent = shapes[:, axis]
        size = (call["ratio"] * extent.astype(np.float32)).astype(np.int64)
        size = np.maximum(size, call["min_canvas_size"].astype(np.int64))
        canvas[:, axis] = np.maximum(size, extent)
        free = (canvas[:, axis] - extent).astype(np.float32)
        anchors[:, axis] = -(call[name] * free).astype(np.int64)
    return WindowPlan(canvas, anchors)


def _check(call: op.Call, name: str, low: float, high: float) -> None:
    bad = ~((call[name] >= low) & (call[name] <= high))
    op.refuse_samples(bad, name, f"a number from {low} to {high}", call[name])


def _window(call: op.Call, plan: WindowPlan) -> tuple[op.Call, Any, Any, int | None]:
    """What `copy_windows` takes."""
    target = call.outputs[0]
    dtype = np.dtype(np.float32) if target.dtype is op.float16 else target.dtype.numpy
    fill = fill_array(call["fill_value"], dtype)
    channel = None
    if len(fill) > 1:
        channel = (call.types[0].layout or "HWC").index("C")
        counts = target.batch_shape.shapes[:, channel]
        if (counts != counts[0]).any() or counts[0] > len(fill):
            raise op.wrong_value(
                "fill_value",
                "1 value, or one for each channel",
                f"{len(fill)} for {counts.max()} channels",
                sample=int(counts.argmax()),
            )
        fill = fill[: counts[0]]
        channel = None if len(fill) == 1 else channel
    return call, plan.anchors, np.tile(fill, (call.size, 1)), channel


paste.coordinate_map(place_in_window)


@paste.cpu
def _cpu(call: op.Call, plan: WindowPlan) -> None:
    copy_windows(*_window(call, plan))


@paste.gpu
def _gpu(call: op.Call, plan: WindowPlan) -> op.Launch:
    return launch_windows(*_window(call, plan))


@paste.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 6, 3), (5, 5, 3), (1, 3, 3))
    planes = op.samples((2, 4, 6), dtype=op.float32, layout="CHW")

    def pasted(image: Any, shape: tuple[int, ...], at: tuple[int, ...], fill: Any) -> Any:
        canvas = np.full(shape, fill, image.dtype)
        canvas[tuple(np.s_[a : a + n] for a, n in zip(at, image.shape, strict=True))] = image
        return canvas

    def pasted_all(shapes: Any, places: Any, fill: Any = (9, 8, 7)) -> list[Any]:
        parts = zip(images.arrays(), shapes, places, strict=True)
        return [pasted(*part, fill) for part in parts]

    color = {"fill_value": (9, 8, 7)}
    ends = {"paste_x": [0, 0, 1], "paste_y": [1, 1, 0]}
    least = {"ratio": 1, "min_canvas_size": 5, "paste_x": 0, "paste_y": 0}
    return [
        op.case("twice", images, ratio=2.0, **color).equals(
            pasted_all([(8, 12, 3), (10, 10, 3), (2, 6, 3)], [(2, 3, 0), (2, 2, 0), (0, 1, 0)])
        ),
        op.case("per sample", images, ratio=[1, 1.5, 3], **ends, fill_value=5).equals(
            pasted_all([(4, 6, 3), (7, 7, 3), (3, 9, 3)], [(0, 0, 0), (2, 0, 0), (0, 6, 0)], 5)
        ),
        op.case("least size", images, **least, **color).equals(
            pasted_all([(5, 6, 3), (5, 5, 3), (5, 5, 3)], [(0, 0, 0)] * 3)
        ),
        op.case("gray", op.samples((2, 2, 1)), ratio=2, **color)
        .equals([pasted(op.samples((2, 2, 1)).at(0), (4, 4, 1), (1, 1, 0), 9)])
        .no_oracle(),
        op.case("planes", planes, ratio=1.5, fill_value=(-1, 2), n_channels=2)
        .equals([pasted(planes.at(0), (2, 6, 9), (0, 1, 1), np.array([-1, 2]).reshape(2, 1, 1))])
        .no_oracle(),
        op.case("empty", op.samples(), ratio=2, **color).equals([]),
        op.case("small ratio", images, ratio=[1, 2, 0.5], **color).value_error("sample 2"),
        op.case("position", images, ratio=2, paste_x=1.5, **color).value_error("`paste_x`"),
        op.case("two values", images, ratio=2, fill_value=(1, 2)).value_error("`fill_value`"),
        op.case("no ratio", images, **color).type_error("`ratio`"),
        op.case("layout", op.samples((4, 4), layout="HW"), ratio=2, fill_value=1).type_error(
            "layout"
        ),
    ]
