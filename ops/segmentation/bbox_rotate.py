"""`bbox_rotate`: boxes of an image that is rotated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .box_rows import BoxRows, box_rows, check_boxes, check_fours, check_labels, keep_rows
from .rotate_boxes import rotate_boxes

_MODES = {"expand": 1.0, "halfway": 0.5, "fixed": 0.0}
_LAYOUTS = ("xyXY", "xyWH")
_LEAST = 0.01
"""What an extent may be above a whole number without another row of pixels, as in `rotate`."""


@op.operator("bbox_rotate", schema="BBoxRotate", inputs=(1, 2))
def bbox_rotate(
    boxes: op.SampleType,
    labels: Any = None,
    /,
    *,
    angle: op.FloatArg,
    input_shape: op.IntsArg,
    bbox_layout: str = "xyXY",
    bbox_normalized: bool = True,
    keep_size: bool = False,
    mode: str = "expand",
    remove_threshold: float = 0.1,
    shape_layout: str = "HW",
    size: op.FloatsArg | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType | tuple[op.SampleType, op.SampleType]:
    """Keep bounding boxes in place when `rotate` turns their image about its center.

    Args:
        boxes: the boxes of a sample, float32, (n, 4).
        bbox_layout: "xyXY", corners, or "xyWH", a corner and the size; as fractions of the image,
            or pixels with bbox_normalized=False.
        bbox_normalized: whether boxes are in fractions of the image; else in pixels.
        labels: the class of each box, int32, (n,) or (n, 1).
        angle: the angle in degrees, counter-clockwise; may differ per sample.
        input_shape: the shape of the image in pixels, in the order `shape_layout`; may differ per
            sample.
        keep_size: the result has the size of the image.
        size: the size of the result (height, width), which may differ per sample. Without it and
            `keep_size`, the result holds all of the rotated image.
        mode: "expand": a box holds all of its rotated self; "fixed": it keeps its size, about the
            rotated center, with its sides exchanged from 45 degrees on; "halfway": sizes are half
            way between these.
        remove_threshold: a box is removed if less than this part of it, from 0 to 1, is left
            inside; boxes without an area too, unless it is 0; boxes with numbers that are not
            finite always.
        shape_layout: the order of `input_shape`, with an H and a W.

    Returns:
        The boxes in the layout they came in, in fractions of the new size or in its pixels, cut at
        the edges; and the labels of those that are left, if given.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for arguments out of range.

    Example:
        image, boxes = gradiva.imread("cat.jpg"), np.float32([[0.25, 0.25, 0.5, 0.75]])
        rotated = gradiva.rotate(image, angle=30.0, keep_size=True)
        boxes = gradiva.bbox_rotate(boxes, angle=30.0, input_shape=(300, 451), keep_size=True)
    """
    check_boxes(boxes, labels)
    if bbox_layout not in _LAYOUTS:
        raise op.wrong_value("bbox_layout", "'xyXY' or 'xyWH'", repr(bbox_layout))
    if mode not in _MODES:
        raise op.wrong_value("mode", "'expand', 'halfway' or 'fixed'", repr(mode))
    if not 0 <= remove_threshold <= 1:
        raise op.wrong_value("remove_threshold", "a number from 0 to 1", remove_threshold)
    if "H" not in shape_layout or "W" not in shape_layout:
        raise op.wrong_value("shape_layout", "a layout with H and W", repr(shape_layout))
    if keep_size and size is not None:
        raise op.OperatorValueError("`keep_size` and `size` exclude each other")
    made = op.SampleType(op.float32, 2, "", boxes.device)
    if labels is None:
        return made
    return made, op.SampleType(op.int32, labels.ndim, "", labels.device)


def _turn(degrees: float) -> tuple[float, float]:
    """Cosine and sine, exact for quarters of a turn."""
    quarter, rest = divmod(degrees, 90.0)
    if rest == 0.0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _canvases(images: Any, turns: Any) -> Any:
    """(N, 2): height and width that hold the rotated images. A side keeps the parity of the side
    that it turns into, so that the center falls on a pixel, or between pixels, as before."""
    cosine, sine = np.abs(turns).T
    height, width = images.T
    stays = np.abs(sine) < np.abs(cosine) - 1e-6
    tall = np.ceil(cosine * height + sine * width - _LEAST)
    wide = np.ceil(cosine * width + sine * height - _LEAST)
    tall += (tall - np.where(stays, height, width)) % 2
    wide += (wide - np.where(stays, width, height)) % 2
    return np.stack([tall, wide], axis=1)


def _sizes(call: op.Call, turns: Any) -> Any:
    """(N, 4): height and width of the image and of the result. Raises OperatorValueError."""
    layout, shapes, given = call["shape_layout"], call["input_shape"], call["size"]
    if shapes.shape[1] < len(layout):
        raise op.wrong_value(
            "input_shape", f"{len(layout)} numbers, as `shape_layout` has", shapes.shape[1]
        )
    image = shapes[:, [layout.index("H"), layout.index("W")]].astype(np.float64)
    bad = ((image < 1) | (image > 1 << 30)).any(axis=1)
    op.refuse_samples(bad, "input_shape", "sizes from 1 on", shapes)
    if given is not None and given.shape[1]:
        if given.shape[1] != 2:
            raise op.wrong_value("size", "(height, width)", f"{given.shape[1]} numbers")
        bad = ~((given >= 1) & (given <= 1 << 30)).all(axis=1)
        op.refuse_samples(bad, "size", "sizes from 1 on", given)
        result = np.floor(given.astype(np.float64))
    elif call["keep_size"]:
        result = image
    else:
        result = _canvases(image, turns)
    return np.concatenate([image, result], axis=1)


@dataclass(frozen=True)
class RotatePlan(op.Plan):
    """rows: the boxes; rotated: the same, rotated; kept: which of them are in the result."""

    rows: BoxRows
    rotated: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]


@bbox_rotate.shapes
def _shapes(call: op.Call) -> RotatePlan:
    check_fours(call.inputs[0])
    if len(call.inputs) > 1:
        check_labels(call, one=True)
    bad = ~np.isfinite(call["angle"])
    op.refuse_samples(bad, "angle", "a number of degrees", call["angle"])
    turns = np.array([_turn(angle) for angle in call["angle"].tolist()]).reshape(-1, 2)
    rows = box_rows(call.inputs[0], 4)
    rotated, kept = np.empty(rows.values.shape), np.empty(len(rows.values), np.bool_)
    counts = np.zeros((call.size, 1), np.int64)
    given = (rows.values, rows.starts, rows.counts), _sizes(call, turns), turns
    sized, threshold = call["bbox_layout"] == "xyWH", float(call["remove_threshold"])
    rule = _MODES[call["mode"]], bool(call["bbox_normalized"]), sized, threshold
    call.for_samples(rotate_boxes, *given, rule, (rotated, kept, counts), work=call.inputs[0])
    made = np.insert(counts, 1, 4, axis=1)
    if len(call.inputs) == 1:
        return RotatePlan(made, rows, rotated, kept)
    shapes = call.inputs[1].batch_shape.shapes.copy()
    shapes[:, :1] = counts
    return RotatePlan((made, shapes), rows, rotated, kept)


@bbox_rotate.cpu
def _cpu(call: op.Call, plan: RotatePlan) -> None:
    rows, kept = plan.rows, plan.kept
    keep_rows(call, 0, plan.rotated.reshape(-1), rows.starts * 4, kept, rows)
    if len(call.inputs) > 1:
        labels = call.inputs[1]
        keep_rows(call, 1, labels.data, labels.batch_shape.offsets, kept, rows)


@bbox_rotate.cases
def _cases() -> list[op.Case]:
    one = np.array([[0.25, 0.125, 0.5, 0.625], [0.5, 0.5, 1, 0.75]], np.float32)
    boxes = op.batch([one, np.zeros((0, 4), np.float32)])
    labels = op.batch([np.array([3, 4], np.int32), np.zeros(0, np.int32)])
    given: dict[str, Any] = {"input_shape": (40, 80)}
    inf = float("inf")
    odd = np.array(
        [[0, 0, inf, 1], [-inf, -inf, inf, inf], one[0], [0, float("nan"), 1, 1]], np.float32
    )
    left = np.array([[0.125, 0.5, 0.625, 0.75], [0.5, 0, 0.75, 0.5]], np.float32)
    pixels = np.array([[5, 40, 25, 60], [20, 0, 30, 40]], np.float32)
    return [
        op.case("as it is", boxes, angle=0, **given).equals([one, boxes.at(1)]),
        op.case("a quarter", boxes, angle=90, **given).equals([left, boxes.at(1)]),
        op.case("labels", boxes, labels, angle=90, **given, keep_size=True),
        op.case(
            "pixels",
            op.batch([one * np.array([80, 40, 80, 40], np.float32)]),
            angle=90,
            **given,
            bbox_normalized=False,
        ).equals([pixels]),
        op.case(
            "fixed", boxes, angle=30, mode="fixed", input_shape=(9, 30, 3), shape_layout="HWC"
        ).no_oracle(),
        op.case(
            "halfway, sizes",
            boxes,
            angle=-20,
            mode="halfway",
            **given,
            bbox_layout="xyWH",
            size=[(50, 60), (30.5, 70)],
            remove_threshold=0.5,
        ).no_oracle(),
        op.case("not finite", op.batch([odd]), angle=90, **given, remove_threshold=0)
        .equals([left[:1]])
        .no_oracle(),
        op.case("empty", op.samples(dtype=op.float32, layout="NC"), angle=3, **given).equals([]),
        op.case(
            "dtype", op.samples((2, 4), dtype=op.float64, layout=""), angle=3, **given
        ).type_error("dtype"),
        op.case(
            "five numbers", op.samples((2, 5), dtype=op.float32, layout=""), angle=3, **given
        ).value_error("sample 0"),
        op.case(
            "labels of others", boxes, op.batch([labels.at(0)] * 2), angle=3, **given
        ).value_error("sample 1"),
        op.case("mode", boxes, angle=3, **given, mode="grow").value_error("`mode`"),
        op.case("no angle", boxes, angle=float("nan"), **given).value_error("`angle`"),
        op.case("no shape", boxes, angle=3).type_error("`input_shape`"),
    ]
