"""`box_encoder`: boxes and labels as the targets of an SSD network's anchors."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import F32Table, F32Vector, F32Volume, I32Table, I64Vector, Slabs

from .anchors import area_of, center_difference, overlap, size_difference
from .box_rows import check_boxes, check_fours, check_labels

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")


@op.operator("box_encoder", schema="BoxEncoder", inputs=2)
def box_encoder(
    boxes: op.SampleType,
    labels: Any,
    /,
    *,
    anchors: op.Floats,
    criteria: float = 0.5,
    offset: bool = False,
    scale: float = 1.0,
    means: op.Floats = (0.0, 0.0, 0.0, 0.0),
    stds: op.Floats = (1.0, 1.0, 1.0, 1.0),
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Match bounding boxes with anchors, as the training of an SSD detector needs it.

    The method is that of Liu et al., "SSD: single shot multibox detector", ECCV 2016, section 2.2.

    Args:
        boxes: the boxes of a sample, float32, (n, 4): left, top, right, bottom.
        labels: the class of each box, int32, (n,) or (n, 1).
        anchors: four numbers for each anchor, in the same order.
        criteria: an anchor gets the box with which its intersection over union is largest, if that
            is above `criteria`, from 0 to 1. Each box also takes the anchor that fits it best,
            whatever the overlap. Of equals, the last anchor is taken, and the last box.
        offset: return the differences from the anchors: of centers as fractions of the anchor's
            size, of sizes the logarithms of their ratios; minus `means`, divided by `stds` (four
            numbers each: x, y, width, height).
        scale: multiplies boxes and anchors before, which changes no more than the last digits of
            the differences.
        means: four numbers, subtracted from the differences with `offset`.
        stds: four numbers, by which the differences are then divided.

    Returns:
        For each anchor center x, center y, width and height of its box, float32 (anchors, 4); and
        the label, int32 (anchors,). Anchors without a box have label 0, and themselves (zeros, with
        `offset`) for a box.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for anchors that are no boxes, and for other arguments out of range.

    Example:
        boxes, labels = np.float32([[0.1, 0.1, 0.4, 0.5]]), np.int32([7])
        anchors = [0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0]  # two anchors
        matched, classes = gradiva.box_encoder(boxes, labels, anchors=anchors)
        classes  # [7, 0]
    """
    check_boxes(boxes, labels)
    numbers = (anchors, means, stds)
    size, *fours = (len(np.atleast_1d(values)) for values in numbers)
    if size == 0 or size % 4:
        raise op.wrong_value("anchors", "four numbers for each anchor", f"{size} numbers")
    for name, length, values in zip(("means", "stds"), fours, numbers[1:], strict=True):
        if length != 4 or (name == "stds" and 0 in np.atleast_1d(values)):
            expected = "four numbers" + (" other than 0" if name == "stds" else "")
            raise op.wrong_value(name, expected, values)
    if not 0 <= criteria <= 1:
        raise op.wrong_value("criteria", "a number from 0 to 1", criteria)
    device = boxes.device
    return op.SampleType(op.float32, 2, "", device), op.SampleType(op.int32, 1, "", device)


@box_encoder.shapes
def _shapes(call: op.Call) -> tuple[op.BatchShape, op.BatchShape]:
    check_fours(call.inputs[0])
    check_labels(call, one=True)
    count = len(call["anchors"]) // 4
    return op.BatchShape.equal(call.size, (count, 4)), op.BatchShape.equal(call.size, (count,))


@lru_cache(maxsize=8)
def _anchors(numbers: tuple[float, ...]) -> tuple[Any, Any]:
    """Corners (A, 4); and centers and sizes (A, 4)."""
    half = np.float32(0.5)
    with np.errstate(all="ignore"):
        corners = np.array(numbers, np.float32).reshape(-1, 4)
        sizes = corners[:, 2:] - corners[:, :2]
        centers = (corners[:, :2] + corners[:, 2:]) * half
    return corners, np.concatenate([centers, sizes], axis=1)


@op.jit
def _encode(
    given: Slabs,
    counts: I64Vector,
    anchors: tuple[F32Table, F32Table],
    limit: np.float32,
    terms: tuple[bool, np.float32, F32Vector, F32Vector],
    results: tuple[F32Volume, I32Table],
    begin: int,
    end: int,
) -> None:
    """Match boxes with anchors, and write the boxes and labels of the anchors.

    given: boxes (left, top, right, bottom) and labels; counts: the boxes of each sample; anchors:
    their corners, and their centers and sizes; limit: the least overlap (intersection over union)
    of a match; terms: whether to write differences, what to scale them by, their means and
    deviations; results: (N, anchors, 4) and (N, anchors).
    """
    boxes, box_offsets, labels, label_offsets = given
    corners, centers = anchors
    offset, scale, means, stds = terms
    out, out_labels = results
    size = len(corners)
    zero, half = np.float32(0.0), np.float32(0.5)
    areas = np.empty(size, np.float32)
    for a in range(size):
        areas[a] = area_of(corners[a, 0], corners[a, 1], corners[a, 2], corners[a, 3])
    for i in range(begin, end):
        chosen = np.full(size, -1, np.int64)
        best = np.full(size, np.float32(-1.0), np.float32)
        forced = np.empty(counts[i], np.int64)
        for b in range(counts[i]):
            box = boxes[box_offsets[i] + 4 * b : box_offsets[i] + 4 * b + 4]
            left, top, right, bottom = box[0], box[1], box[2], box[3]
            area = area_of(left, top, right, bottom)
            most, anchor = zero, size - 1
            for a in range(size):
                common = overlap(
                    left,
                    top,
                    right,
                    bottom,
                    area,
                    corners[a, 0],
                    corners[a, 1],
                    corners[a, 2],
                    corners[a, 3],
                    areas[a],
                )
                if common >= most:
                    most, anchor = common, a
                if common > limit and common >= best[a]:
                    best[a] = common
                    chosen[a] = b
            forced[b] = anchor
        for b in range(counts[i]):
            chosen[forced[b]] = b
        for a in range(size):
            b = chosen[a]
            if b < 0:
                out_labels[i, a] = 0
                for c in range(4):
                    out[i, a, c] = zero if offset else centers[a, c]
                continue
            out_labels[i, a] = labels[label_offsets[i] + b]
            box = boxes[box_offsets[i] + 4 * b : box_offsets[i] + 4 * b + 4]
            for c in range(2):
                center = (box[c] + box[c + 2]) * half
                extent = box[c + 2] - box[c]
                if offset:
                    own, wide = centers[a, c], centers[a, c + 2]
                    out[i, a, c] = center_difference(center, own, wide, scale, means[c], stds[c])
                    out[i, a, c + 2] = size_difference(
                        extent, wide, scale, means[c + 2], stds[c + 2]
                    )
                else:
                    out[i, a, c] = center
                    out[i, a, c + 2] = extent


@box_encoder.cpu
def _cpu(call: op.Call) -> None:
    boxes, labels = call.inputs
    given = boxes.data, boxes.batch_shape.offsets, labels.data, labels.batch_shape.offsets
    counts, anchors = boxes.batch_shape.shapes[:, 0], _anchors(call["anchors"])
    means, stds = np.array(call["means"], np.float32), np.array(call["stds"], np.float32)
    terms = call["offset"], np.float32(call["scale"]), means, stds
    results = call.outputs[0].as_array(), call.outputs[1].as_array()
    limit = np.float32(call["criteria"])
    call.for_samples(_encode, given, counts, anchors, limit, terms, results)


_HERE: Final = Path(__file__).parent
_OVERLAP: Final = _HERE / "box_overlap.cuh"
_FORCED: Final = op.CudaKernel(
    "box_forced", ("arithmetic.cuh", None, _OVERLAP, _HERE / "box_forced.cuh")
)
_KERNEL: Final = op.CudaKernel(
    "box_encoder", ("arithmetic.cuh", None, _OVERLAP, _HERE / "box_encoder.cuh")
)


@box_encoder.gpu
def _gpu(call: op.Call) -> tuple[op.Launch, op.Launch]:
    boxes, labels = call.inputs
    corners, centers = _anchors(call["anchors"])
    counts = boxes.batch_shape.shapes[:, 0]
    places = boxes.batch_shape.offsets, labels.batch_shape.offsets, counts, counts.cumsum() - counts
    table = np.stack(places, axis=1)
    forced = op.Scratch(max(int(counts.sum()), 1), np.dtype(np.int32))
    each = op.blocks_of(counts, 1)
    size, pair = len(corners), (boxes.data, labels.data)
    first = boxes.data, op.OutputArg(forced), table, each.table, corners, np.int32(size)
    terms = (call["criteria"], call["scale"], *call["means"], *call["stds"])
    words = np.append(np.array(terms, np.float32).view(np.uint32), np.uint32(call["offset"]))
    made = tuple(op.OutputArg(output.data) for output in call.outputs)
    blocks = op.blocks_of(np.full(call.size, size, np.int64))
    shared = area_of, overlap
    tables = table, blocks.table, corners, centers, np.int64(size), words
    forcing = _FORCED.unit({}, _translate.translation_of(*shared))
    code = _translate.translation_of(*shared, center_difference, size_difference)
    unit, second = _KERNEL.unit({}, code), (*pair, *made, forced, *tables)
    return op.Launch(forcing, each.total, first), op.Launch(unit, blocks.total, second)


@box_encoder.cases
def _cases() -> list[op.Case]:
    boxes = op.batch(
        [np.array([[0, 0, 0.5, 0.5], [0.5, 0, 1, 1]], np.float32), np.zeros((0, 4), np.float32)]
    )
    labels = op.batch([np.array([5, 6], np.int32), np.zeros(0, np.int32)])
    anchors = (0, 0, 0.5, 0.5, 0.5, 0, 1, 0.75, 0, 0, 1, 1, 0.75, 0, 1, 0.5)
    own = np.array(
        [
            [0.25, 0.25, 0.5, 0.5],
            [0.75, 0.375, 0.5, 0.75],
            [0.5, 0.5, 1, 1],
            [0.875, 0.25, 0.25, 0.5],
        ],
        np.float32,
    )
    matched = own.copy()
    matched[1] = 0.75, 0.5, 0.5, 1
    given: dict[str, Any] = {"anchors": anchors}
    tall = op.batch([boxes.at(0), boxes.at(0)])
    twice = op.batch([labels.at(0).reshape(2, 1)] * 2)
    return [
        op.case("default", boxes, labels, **given).equals([matched, own]),
        op.case(
            "offsets",
            tall,
            twice,
            **given,
            offset=True,
            stds=(0.1, 0.1, 0.2, 0.2),
            means=(0, 0.5, 0, 1),
            scale=300,
        ).no_oracle(),
        op.case("strict", boxes, labels, **given, criteria=1).equals([matched, own]),
        op.case("one for all", tall, twice, anchors=anchors[4:8], criteria=0.25).equals(
            [matched[1:2]] * 2
        ),
        op.case(
            "empty",
            op.samples(dtype=op.float32, layout="NC"),
            op.samples(dtype=op.int32, layout=""),
            **given,
        ).equals([]),
        op.case("anchors", boxes, labels, anchors=anchors[:5]).value_error("`anchors`"),
        op.case("no anchors", boxes, labels, anchors=()).value_error("`anchors`"),
        op.case("labels", boxes, twice, **given).value_error("sample 1"),
        op.case(
            "label dtype", boxes, op.samples((2,), (0,), dtype=op.int64, layout=""), **given
        ).type_error("labels"),
        op.case("criteria", boxes, labels, **given, criteria=2).value_error("`criteria`"),
        op.case("stds", boxes, labels, **given, stds=(1, 1, 0, 1)).value_error("`stds`"),
    ]
