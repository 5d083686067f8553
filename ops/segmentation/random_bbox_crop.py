"""`random_bbox_crop`: a random crop window that fits boxes, and the boxes in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.user_warning import warn_user

from .box_rows import BoxRows, box_rows, check_boxes, check_labels, keep_rows, pixels_hint
from .crop_options import Limits, Options, check_options, columns_of, limits_of
from .window_search import MOST_ATTEMPTS, place_kernel, search_all


@op.operator("random_bbox_crop", schema="RandomBBoxCrop", inputs=(1, 2), random=True)
def random_bbox_crop(
    boxes: op.SampleType,
    labels: Any = None,
    /,
    *,
    thresholds: op.Floats = (0.0,),
    threshold_type: str = "iou",
    all_boxes_above_threshold: bool = True,
    allow_no_crop: bool | None = None,
    scaling: op.Floats | None = None,
    aspect_ratio: op.Floats | None = None,
    crop_shape: op.IntsArg | None = None,
    input_shape: op.IntsArg | None = None,
    shape_layout: str | None = None,
    bbox_layout: str | None = None,
    ltrb: bool | None = None,
    bbox_prune_threshold: float | None = None,
    num_attempts: int = 1,
    total_num_attempts: int | None = None,
    output_bbox_indices: bool = False,
    quiet: bool = False,
    **common: op.Unpack[op.Sampled],
) -> tuple[op.SampleType, ...]:
    """Draw a crop window that keeps enough of the bounding boxes, and crop the boxes to it.

    Sides are drawn independently and uniformly, and drawn again if a ratio is out of range; the
    place uniformly. A window that would keep no box does not count.

    Args:
        boxes: float32, (n, 4), or (n, 6) in volumes; fractions of the input. A box that ends
            before it begins gives a warning, and overlaps with nothing.
        bbox_layout: what the columns are: x, y, z (start), X, Y, Z (end) or W, H, D (size), in any
            order; "xyXY" or "xyzXYZ" by default, sizes with `ltrb=False`.
        ltrb: whether boxes are given by their ends, where `bbox_layout` is not given.
        labels: int32, (n,) or (n, k).
        thresholds: one is drawn for a search, with the same probability.
        threshold_type: what must reach it: "iou", the intersection over union of box and window; or
            "overlap", the part of the box in the window. It must for all boxes
            (all_boxes_above_threshold), or for one.
        all_boxes_above_threshold: whether all boxes must reach the threshold, or one.
        allow_no_crop: the whole input is one more choice; by default yes, but not with
            `crop_shape`.
        num_attempts: windows to draw before the choice is drawn again.
        total_num_attempts: windows to draw in all; then the best one is taken, with a warning
            unless `quiet`.
        scaling: (min, max) of each side of the window, as a fraction of the input; (1, 1) by
            default.
        aspect_ratio: (min, max) of width / height, (1, 1) by default; in volumes also three ranges,
            of x / y, x / z and y / z. In pixels if `input_shape` is given, else in fractions. If
            min = max, and `scaling` allows no window of this ratio, the shorter side becomes
            shorter than `scaling` allows.
        crop_shape: the size of the window in pixels, instead of the two; needs `input_shape`. Both
            may differ per sample.
        input_shape: the size of the input in pixels, in the order of `shape_layout`.
        shape_layout: their order, "WH" or "WHD" by default.
        bbox_prune_threshold: keep the boxes of whose area at least this fraction, and more than
            nothing, is in the window; by default those whose center is in the window.
        output_bbox_indices: return the indices of the boxes that are kept.
        quiet: give no warning if `total_num_attempts` were not enough.

    Returns:
        Where the window begins and its size, float32, in the order x, y, z, as fractions (as pixels
        with `crop_shape`); the boxes in fractions of the window, cut at its edges; the labels, if
        given; and int32 indices, if asked for.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for boxes outside the input, and arguments out of range.
        OperatorRuntimeError: if a million windows without `total_num_attempts` did not fit.

    Example:
        image, boxes = gradiva.imread("cat.jpg"), np.float32([[0.25, 0.25, 0.5, 0.75]])
        start, shape, boxes = gradiva.random_bbox_crop(
            boxes, thresholds=[0.0, 0.3, 0.5], scaling=(0.3, 1.0), aspect_ratio=(0.5, 2.0)
        )
        window = gradiva.slice(image, start, shape)
    """
    check_boxes(boxes, labels)
    check_options(locals())
    pair = op.SampleType(op.float32, 1, "", boxes.device)
    made = [pair, pair, op.SampleType(op.float32, 2, "", boxes.device)]
    if labels is not None:
        made.append(op.SampleType(op.int32, labels.ndim, "", boxes.device))
    if output_bbox_indices:
        made.append(op.SampleType(op.int32, 1, "", boxes.device))
    return tuple(made)


def _corners(rows: BoxRows, options: Options) -> np.ndarray[Any, Any]:
    """(total, 2 * ndim) float64: starts and ends. Raises OperatorValueError."""
    ndim = options.ndim
    ordered = rows.values[:, options.columns].astype(np.float64)
    if options.sized:
        ordered[:, ndim:] += ordered[:, :ndim]
    # Sums of float32 numbers may miss 1 by their last digits.
    good = (ordered >= -1e-6) & (ordered <= 1.0 + 1e-6)
    if not good.all():
        row = int(np.flatnonzero(~good.all(axis=1))[0])
        raise op.OperatorValueError(
            "a box is not inside the input" + pixels_hint(rows.values[row]),
            expected="fractions from 0 to 1",
            got=str(rows.values[row].tolist()),
            sample=rows.sample(row),
        )
    if (ordered[:, ndim:] < ordered[:, :ndim]).any():
        warn_user(
            "random_bbox_crop: a box that ends before it begins overlaps with nothing; "
            "`bbox_layout` and `ltrb` say what its numbers are"
        )
    np.maximum(ordered, 0.0, out=ordered)
    return np.minimum(ordered, 1.0, out=ordered)


@dataclass(frozen=True)
class BoxCropPlan(op.Plan):
    """rows: the boxes; boxes: their starts and ends; windows: starts and sizes, (N, 2 * ndim);
    kept: which of the boxes are in the result."""

    options: Options
    limits: Limits
    rows: BoxRows
    boxes: np.ndarray[Any, Any]
    windows: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]


@random_bbox_crop.shapes
def _shapes(call: op.Call) -> BoxCropPlan:
    source = call.inputs[0].batch_shape
    width = source.shapes[:, 1]
    op.refuse_samples(
        (width != 4) & (width != 6), "", "(n, 4)", source.shapes, "boxes have 4 or 6 numbers"
    )
    op.refuse_samples(
        width != width[:1], "", "(n, 4)", source.shapes, "boxes of a batch have one length"
    )
    if len(call.inputs) > 1:
        check_labels(call)
    # Without a sample the layout says how wide the boxes would be.
    axes = int(width[0]) if call.size else len(call["bbox_layout"] or "xyXY")
    options = columns_of(call, axes // 2)
    limits = limits_of(call, options)
    rows = box_rows(call.inputs[0], 2 * options.ndim)
    boxes = _corners(rows, options)
    windows = np.zeros((call.size, 2 * options.ndim))
    kept = np.zeros(len(boxes), np.bool_)
    states = np.zeros(call.size, np.int64)
    given = (boxes, rows.starts, rows.counts), call.draws, options.rules
    sizes, results = (limits.inputs, limits.crops), (windows, kept, states)
    call.for_costly_samples(search_all, *given, sizes, results)
    if (states == 2).any():
        raise op.OperatorRuntimeError(
            "no window fits the boxes and the arguments"
            + ("" if options.total else f" (of {MOST_ATTEMPTS}; give `total_num_attempts`)"),
            sample=int(np.flatnonzero(states == 2)[0]),
        )
    if (states == 1).any() and not call["quiet"]:
        warnings.warn(
            "random_bbox_crop: after `total_num_attempts` no window fits the boxes of a sample; "
            "the best one is taken (quiet=True does not warn)",
            stacklevel=2,
        )
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    counts = (upto[rows.starts + rows.counts] - upto[rows.starts]).reshape(-1, 1)
    corner = op.BatchShape.equal(call.size, (options.ndim,))
    widths = np.full_like(counts, 2 * options.ndim)
    made: list[Any] = [corner, corner, np.concatenate([counts, widths], axis=1)]
    if len(call.inputs) > 1:
        shapes = call.inputs[1].batch_shape.shapes.copy()
        shapes[:, :1] = counts
        made.append(shapes)
    if call["output_bbox_indices"]:
        made.append(counts)
    return BoxCropPlan(tuple(made), options, limits, rows, boxes, windows, kept)


@random_bbox_crop.cpu
def _cpu(call: op.Call, plan: BoxCropPlan) -> None:
    options, limits, rows, boxes = plan.options, plan.limits, plan.rows, plan.boxes
    windows, kept, ndim = plan.windows, plan.kept, options.ndim
    starts, sizes = windows[:, :ndim], windows[:, ndim:]
    if limits.crops.shape[1]:
        scale = limits.inputs
        call.outputs[0].as_array()[:] = np.rint(starts * scale)
        call.outputs[1].as_array()[:] = np.rint(sizes * scale)
    else:
        call.outputs[0].as_array()[:] = starts
        call.outputs[1].as_array()[:] = sizes
    target = call.outputs[2]
    table = boxes, (rows.starts, rows.counts), windows, kept
    columns = np.array(options.columns)
    result = target.data, target.batch_shape.offsets
    call.for_samples(place_kernel, table, columns, options.sized, result, work=target)
    if len(call.inputs) > 1:
        labels = call.inputs[1]
        keep_rows(call, 3, labels.data, labels.batch_shape.offsets, kept, rows)
    if call["output_bbox_indices"]:
        numbers = np.arange(len(boxes)) - np.repeat(rows.starts, rows.counts)
        last = len(call.outputs) - 1
        keep_rows(call, last, numbers.astype(np.int32), rows.starts, kept, rows)


@random_bbox_crop.cases
def _cases() -> list[op.Case]:
    boxes = op.batch(
        [
            np.array([[0.125, 0.25, 0.5, 0.5], [0.5, 0.5, 0.9375, 0.75]], np.float32),
            np.zeros((0, 4), np.float32),
        ]
    )
    labels = op.batch([np.array([5, 6], np.int32), np.zeros(0, np.int32)])
    cubes = op.samples((3, 6), (2, 6), dtype=op.float32, layout="", high=0.5)
    origin = [np.zeros(2, np.float32)] * 2
    crop = {"allow_no_crop": False, "scaling": (0.3, 0.9), "aspect_ratio": (0.5, 2), "seed": 3}
    return [
        op.case("default", boxes).equals(origin),
        op.case("all there is", boxes, labels, output_bbox_indices=True).equals(origin),
        op.case("crop", boxes, labels, **crop).no_oracle(),
        op.case(
            "overlap",
            boxes,
            labels,
            **crop,
            threshold_type="overlap",
            thresholds=(0.2, 0.9),
            total_num_attempts=1000,
            quiet=True,
            bbox_prune_threshold=0.2,
            output_bbox_indices=True,
        ).no_oracle(),
        op.case(
            "pixels",
            boxes,
            labels,
            crop_shape=(50, 60),
            input_shape=(100, 200),
            shape_layout="HW",
            seed=4,
        ).no_oracle(),
        op.case(
            "as large", boxes, crop_shape=[[30, 20], [5, 7]], input_shape=[[30, 20], [5, 7]]
        ).equals(origin),
        op.case(
            "volumes", cubes, bbox_layout="zyxDHW", scaling=(0.5, 1), seed=5, allow_no_crop=False
        ).no_oracle(),
        op.case("empty", op.samples(dtype=op.float32, layout="NC"), **crop).equals([]).no_oracle(),
        op.case("outside", op.batch([boxes.at(0) * 2])).value_error("sample 0"),
        op.case("layout", boxes, bbox_layout="xyzw").value_error("`bbox_layout`"),
        op.case("labels", boxes, op.batch([labels.at(0), labels.at(0)])).value_error("sample 1"),
        op.case("dtype", op.samples((2, 4), dtype=op.float64, layout="")).type_error("dtype"),
        op.case(
            "twice as wide", boxes, aspect_ratio=(2, 2), allow_no_crop=False, seed=3
        ).no_oracle(),
        op.case(
            "impossible",
            boxes,
            scaling=(0.1, 0.2),
            aspect_ratio=(8, 9),
            allow_no_crop=False,
            total_num_attempts=9,
        ).runtime_error("no window fits"),
        op.case("no input", boxes, crop_shape=(5, 5)).value_error("`input_shape`"),
        op.case("threshold", boxes, thresholds=(0.5, 1.5)).value_error("`thresholds`"),
        op.case("scaling", boxes, scaling=(0.9, 0.1)).value_error("`scaling`"),
    ]
