"""`mosaic`: four images in one, about a random center, and their boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.types.arrays import I64Table, I64Volume, Int64Array, Slabs, Table, Vector
from gradiva.ops.image.planes import (
    channels_of,
    check_same_stacks,
    fill_bits,
    plane_layout,
    planes_of,
)

from .boxes import (
    BoxFormat,
    MovedRows,
    check_box_format,
    check_objects,
    move_boxes,
    move_rows,
    moved_type,
)
from .groups import GroupArguments, MixGroup, check_group, check_pair, partners_of, words_of
from .merged_targets import mosaic_with_targets


class MosaicArguments(BoxFormat, GroupArguments, total=False):
    """The groups of arguments that `mosaic` takes."""


@op.operator("mosaic", inputs=(1, 16), random=True)
@op.uses_arguments(..., BoxFormat, MixGroup)
def mosaic(
    input: op.SampleType,
    boxes: Any = None,
    /,
    *labels: Any,
    output_size: op.IntsArg,
    center: op.FloatsArg | None = None,
    center_range: op.Floats = (0.25, 0.75),
    fill_value: op.FloatsArg = 0.0,
    **options: op.Unpack[MosaicArguments],
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Put four images of the batch together, about a random center of the output.

    The image itself lies above and to the left of the center, three others of the batch lie to the
    right of it, below it, and below to the right (Bochkovskiy, Wang, Liao: "YOLOv4", 2020). Images
    are as large as they are given: `resize` them before. What leaves the output is cut off, and
    what no image covers is filled.

    Args:
        input: images or videos of any dtype, in a layout with H and W; HW, HWC or FHWC by rank if
            they have none. Images of a group may differ in height and width.
        boxes: those of each image, float32 or float64, (n, 4), n from 0 on.
        labels: of each box: any dtype, (n,) or (n, k); up to 14 inputs of them.
        output_size: (height, width) of the outputs; may differ per sample.
        center: where the images meet (y, x), from 0 to 1, instead of drawing it; may differ per
            sample.
        center_range: the least and the largest number that is drawn for y and for x.
        fill_value: one value, or one per channel; may differ per sample. Cast to the input's dtype
            as in C: its fraction is dropped, and it wraps.

    Returns:
        Images of the output size; and, if given, the boxes and the labels of all four images. A
        group of fewer than four samples has some of them several times.

    Raises:
        OperatorTypeError: for layouts without H and W, and boxes of another dtype or rank.
        OperatorValueError: naming the sample, for other channels or frames than a partner's, for
            another number of labels than boxes, and for arguments out of range.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(320, 320))
        boxes = gradiva.batch([np.float32([[0.1, 0.2, 0.5, 0.6]]), np.zeros((0, 4), np.float32)])
        images, boxes = gradiva.mosaic(images, boxes, output_size=(640, 640), fill_value=114)
    """
    layout = plane_layout(input)
    check_group(options)
    check_box_format(options)
    ends = center_range if isinstance(center_range, tuple) else (center_range,)
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1:
        raise op.wrong_value("center_range", "(low, high) from 0 to 1", center_range)
    made = op.with_layout(input, layout)
    if boxes is None:
        return made
    check_objects(boxes)
    types = (made, op.SampleType(boxes.dtype, 2, "", boxes.device))
    return (*types, *map(moved_type, labels))


@dataclass(frozen=True)
class MosaicPlan(op.Plan):
    """partners: the four images of each output, (N, 4), in the order of rows; corners: where each
    begins (y, x) in the output, (N, 4, 2); centers: (N, 2), where they meet; rows: boxes and labels
    of the other outputs."""

    partners: Int64Array
    corners: Int64Array
    centers: Int64Array
    rows: list[MovedRows]


mosaic.samplewise, mosaic.mixes = False, True
mosaic.moves = op.NoMap("it shows several images at once")
mosaic.with_targets = partial(mosaic_with_targets, mosaic)


def _sizes(call: op.Call) -> Int64Array:
    """(N, 2): the heights and widths of the outputs. Raises OperatorValueError."""
    sizes: Int64Array = call["output_size"]
    if sizes.shape[1] != 2:
        raise op.wrong_value("output_size", "two numbers (height, width)", f"{sizes.shape[1]}")
    bad = ((sizes < 1) | (sizes > 1 << 30)).any(axis=1)
    op.refuse_samples(bad, "output_size", "sizes from 1 on", sizes)
    return sizes


def _centers(call: op.Call, sizes: Int64Array) -> Int64Array:
    """(N, 2): the pixels at which the lower right images begin. Raises OperatorValueError."""
    parts = call["center"]
    if parts is None:
        low, high = call["center_range"]
        drawn = (words_of(call, 1)[:, 1:3].astype(np.float64) + 0.5) * 2.0**-32
        parts = low + drawn * (high - low)
    else:
        check_pair("center", parts)
    centers: Int64Array = np.floor(parts.astype(np.float64) * sizes).astype(np.int64)
    return centers


@mosaic.shapes
def _shapes(call: op.Call) -> MosaicPlan:
    source, layout = call.inputs[0].batch_shape, call.types[0].layout or ""
    partners = np.concatenate([np.arange(call.size)[:, None], partners_of(call, 3)], axis=1)
    check_same_stacks(source.shapes, partners, layout)
    sizes = _sizes(call)
    centers = _centers(call, sizes)
    extents = planes_of(source.shapes, layout)[:, 1:3]
    corners = np.repeat(centers[:, None], 4, axis=1)
    corners[:, :2, 0] -= extents[partners[:, :2], 0]
    corners[:, ::2, 1] -= extents[partners[:, ::2], 1]
    shapes = source.shapes.copy()
    height = layout.index("H")
    shapes[:, height : height + 2] = sizes
    rows: list[MovedRows] = []
    if len(call.inputs) > 1:
        boxes = move_boxes(call, call.inputs[1], (partners, corners), extents, sizes)
        counts = call.inputs[1].batch_shape.shapes[:, 0]
        rows = [boxes, *(move_rows(labels, boxes, counts) for labels in call.inputs[2:])]
    made = (shapes, *(one.shapes for one in rows))
    return MosaicPlan(made, partners, corners, centers, rows)


@always_inline
def _fill(row: Vector, fill: Vector, inner: int, plane: int) -> None:
    """Fill pixels of `inner` elements with one value, or with one for each channel."""
    if fill.size == 1:
        for k in range(row.size):
            row[k] = fill[0]
    elif inner > 1:
        for k in range(row.size):
            row[k] = fill[k % inner]
    else:
        for k in range(row.size):
            row[k] = fill[plane]


@op.jit
def mosaic_kernel(
    slabs: Slabs,
    planes: I64Table,
    outputs: tuple[I64Table, I64Table, Table, I64Table],
    partners: I64Table,
    corners: I64Volume,
    begin: int,
    end: int,
) -> None:
    """Fill samples with the rows of four images.

    planes: of the inputs, as `planes_of` makes them; outputs: of the outputs their heights and
    widths (N, 2), where the images meet (N, 2), what is around them, (N, 1) or (N, channels), and
    channels as `channels_of` makes them; partners, corners: as in the plan.
    """
    source, offsets, target, places = slabs
    sizes, centers, fills, channels = outputs
    for i in range(begin, end):
        count, inner = planes[i, 0], planes[i, 3]
        height, width = sizes[i]
        for a in range(count):
            plane = (a // channels[i, 1]) % channels[i, 0]
            for y in range(height):
                first = places[i] + (a * height + y) * width * inner
                row = target[first : first + width * inner]
                done = 0
                for side in range(2):
                    part = side if y < centers[i, 0] else 2 + side
                    p = partners[i, part]
                    at = y - corners[i, part, 0]
                    left = corners[i, part, 1]
                    low, high = max(left, 0), min(left + planes[p, 2], width)
                    if at < 0 or at >= planes[p, 1] or high <= low:
                        continue
                    begins = offsets[p] + (a * planes[p, 1] + at) * planes[p, 2] * inner
                    taken = source[begins + (low - left) * inner : begins + (high - left) * inner]
                    _fill(row[done * inner : low * inner], fills[i], inner, plane)
                    copied = row[low * inner : high * inner]
                    for k in range(copied.size):
                        copied[k] = taken[k]
                    done = high
                _fill(row[done * inner :], fills[i], inner, plane)


@mosaic.cpu
def _cpu(call: op.Call, plan: MosaicPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    shapes, layout = source.batch_shape.shapes, target.layout
    channels = channels_of(shapes, layout)
    fills = fill_bits(call["fill_value"], target.dtype, channels[:, 0])
    outputs = _sizes(call), plan.centers, fills, channels
    planes = planes_of(shapes, layout)
    call.for_samples(mosaic_kernel, call.words, planes, outputs, plan.partners, plan.corners)
    for rows, output in zip(plan.rows, call.outputs[1:], strict=True):
        rows.fill(output)


@mosaic.cases
def _cases() -> list[op.Case]:
    four = [np.full((2, 3, 1), value, np.uint8) for value in (1, 2, 3, 4)]
    images = op.batch(four, layout="HWC")
    planes = op.samples((2, 4, 5), (2, 3, 2), dtype=op.float32, layout="CHW")
    corners = np.array([[0, 0, 0.5, 1], [0.5, 0.5, 1, 1]], np.float32)
    boxes = op.batch([corners, np.zeros((0, 4), np.float32)])
    labels = op.batch([np.array([7, 8], np.int64), np.zeros(0, np.int64)])
    one = op.batch(four[:1], layout="HWC")
    middle: Any = {"output_size": (6, 8), "center": (0.5, 0.5), "seed": 1}
    alone = np.full((6, 8, 1), 9, np.uint8)
    alone[1:5, 1:7] = 1
    return [
        op.case("drawn", images, output_size=(6, 8), seed=1).no_oracle(),
        op.case("one alone", one, **middle, fill_value=9).equals([alone]).no_oracle(),
        op.case("planes", planes, **middle, fill_value=(1.5, 2.5)).no_oracle(),
        op.case("boxes", op.samples((3, 4, 3), (5, 2, 3)), boxes, **middle).no_oracle(),
        op.case(
            "labels",
            planes,
            boxes,
            labels,
            output_size=[[9, 7], [4, 4]],
            remove_threshold=0.5,
            seed=2,
        ).no_oracle(),
        op.case(
            "videos", op.samples((2, 3, 4, 3), (2, 2, 2, 3), layout="FHWC"), **middle
        ).no_oracle(),
        op.case("empty", op.samples(), **middle).equals([]).no_oracle(),
        op.case("no size", images, seed=1).type_error("`output_size`"),
        op.case("size 0", images, output_size=(0, 5), seed=1).value_error("`output_size`"),
        op.case("three numbers", images, output_size=(6, 5, 3), seed=1).value_error("two numbers"),
        op.case("range", images, output_size=(6, 5), center_range=(0.5, 0.2)).value_error(
            "`center_range`"
        ),
        op.case("colors", planes, **middle, fill_value=(1, 2, 3)).value_error("`fill_value`"),
        op.case("channels", op.samples((4, 5, 3), (4, 5, 1)), **middle).value_error("sample 0"),
        op.case(
            "labels of others",
            planes,
            boxes,
            op.batch([np.array([7], np.int32), np.array([], np.int32)]),
            **middle,
        ).value_error("sample 0"),
        op.case("no boxes", planes, op.samples((2, 5), (1, 5), layout=""), **middle).type_error(
            "boxes"
        ),
        op.case("layout", op.samples((7, 5), layout="ft"), **middle).type_error("layout"),
    ]
