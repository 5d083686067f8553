"""Boxes of an image that is mirrored, or pasted on a canvas: `bb_flip` and `bbox_paste`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolTable, F32Table, F32Vector, I64Vector, Slabs

from .box_rows import check_flat_boxes, check_fours, warn_of_pixels


@op.operator("bb_flip", schema="BbFlip")
def bb_flip(
    input: op.SampleType,
    /,
    *,
    horizontal: op.IntArg = 1,
    vertical: op.IntArg = 0,
    ltrb: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Mirror bounding boxes as `flip` mirrors their image.

    Args:
        input: boxes, float32: samples of shape (..., 4), or 1-D with four numbers for each box, in
            fractions of the image; a number over 2 gives a warning. (left, top, width, height), or
            with `ltrb` (left, top, right, bottom).
        horizontal, vertical: nonzero to mirror; may differ per sample.
        ltrb: whether boxes are (left, top, right, bottom); else (left, top, width, height).

    Returns:
        Boxes of the same shapes and layout: left becomes 1 - right. Widths and heights keep their
        bits.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for other shapes.

    Example:
        boxes = np.float32([[0.25, 0.25, 0.5, 0.75]])  # left, top, right, bottom
        gradiva.bb_flip(boxes, ltrb=True)  # [[0.5, 0.25, 0.75, 0.75]]
    """
    check_flat_boxes(input)
    return input


@bb_flip.shapes
def _bb_flip_shapes(call: op.Call) -> op.BatchShape:
    check_fours(call.inputs[0])
    warn_of_pixels(call.inputs[0], "bb_flip")
    return call.inputs[0].batch_shape


@op.jit
def _flip_boxes(
    slabs: Slabs, volumes: I64Vector, flips: BoolTable, corners: bool, begin: int, end: int
) -> None:
    """Flip boxes of four relative coordinates.

    volumes: the elements of each sample; flips: (N, 2), whether x and y are flipped; corners:
    whether boxes are two corners, or else a corner and a size.
    """
    source, source_offsets, target, target_offsets = slabs
    one = np.float32(1.0)
    for i in range(begin, end):
        for k in range(0, volumes[i], 4):
            for axis in range(2):
                s = source_offsets[i] + k + axis
                t = target_offsets[i] + k + axis
                first, second = source[s], source[s + 2]
                if flips[i, axis]:
                    if corners:
                        first, second = one - second, one - first
                    else:
                        first = one - (first + second)
                target[t] = first
                target[t + 2] = second


def _flips(call: op.Call) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.stack([call["horizontal"] != 0, call["vertical"] != 0], axis=1)


@bb_flip.cpu
def _bb_flip_cpu(call: op.Call) -> None:
    volumes = call.outputs[0].batch_shape.volumes
    call.for_samples(_flip_boxes, call.slabs, volumes, _flips(call), call["ltrb"])


_KERNEL: Final = op.CudaKernel("bb_flip", (Path(__file__).with_name("bb_flip.cuh"),))


@bb_flip.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = target.batch_shape.volumes
    places = np.stack([source.batch_shape.offsets, target.batch_shape.offsets], axis=1)
    corners = np.full((call.size, 1), call["ltrb"])
    short = np.concatenate([volumes[:, None], _flips(call), corners], axis=1).astype(np.int32)
    table = np.concatenate([places, short.view(np.int64)], axis=1)
    return op.launch_over(_KERNEL.unit({}), source.data, target.data, table, volumes)


def _boxes() -> op.Batch:
    return op.batch(
        [
            np.array([[0.25, 0.5, 0.25, 0.125]], np.float32),
            np.array([[0.5, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32),
        ]
    )


@bb_flip.cases
def _bb_flip_cases() -> list[op.Case]:
    boxes = _boxes()
    across = [
        np.array([[0.5, 0.5, 0.25, 0.125]], np.float32),
        np.array([[-0.25, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32),
    ]
    corners = [
        np.array([[0.25, 0.875, 0.25, 0.5]], np.float32),
        np.array([[0.5, 0.5, 0.75, 0.75], [0, 0, 1, 1]], np.float32),
    ]
    none = op.batch([np.zeros((0, 4), np.float32), np.ones((1, 4), np.float32)])
    return [
        op.case("default", boxes).equals(across),
        op.case("per sample", boxes, horizontal=[1, 0]).equals([across[0], boxes.at(1)]),
        op.case("corners, vertical", boxes, ltrb=True, horizontal=0, vertical=1).equals(corners),
        op.case("flat", op.batch([box.ravel() for box in map(np.asarray, boxes)])).equals(
            [box.ravel() for box in across]
        ),
        op.case("without boxes", none, vertical=1).equals(
            [none.at(0), np.array([[-1, -1, 1, 1]], np.float32)]
        ),
        op.case("empty", op.samples(dtype=op.float32, layout="")).equals([]),
        op.case("wrong dtype", op.samples((2, 4), dtype=op.float64, layout="")).type_error("dtype"),
        op.case("scalars", op.samples((), dtype=op.float32, layout="")).type_error("four numbers"),
        op.case("six numbers", op.samples((2, 6), dtype=op.float32, layout="")).value_error(
            "sample 0"
        ),
        op.case("wrong length", boxes, vertical=[1, 0, 1]).value_error("`vertical`"),
    ]


@op.operator("bbox_paste", schema="BBoxPaste")
def bbox_paste(
    input: op.SampleType,
    /,
    *,
    ratio: op.FloatArg,
    paste_x: op.FloatArg = 0.5,
    paste_y: op.FloatArg = 0.5,
    ltrb: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Keep bounding boxes in place when `paste` puts their image on a larger canvas.

    Args:
        input: boxes, float32: samples of shape (..., 4), or 1-D with four numbers for each box, in
            fractions of the image; a number over 2 gives a warning. (left, top, width, height), or
            with `ltrb` (left, top, right, bottom).
        ratio: the size of the canvas, relative to that of the image, at least 1; may differ per
            sample.
        paste_x, paste_y: where on the canvas the image is, from 0 (left, top) to 1 (right, bottom);
            may differ per sample.
        ltrb: whether boxes are (left, top, right, bottom); else (left, top, width, height).

    Returns:
        Boxes of the same shapes and layout, in fractions of the canvas: x / ratio + paste_x *
        (ratio - 1) / ratio, y alike, and sizes divided by `ratio`.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for other shapes, for a ratio below 1 and places that are not numbers.

    Example:
        boxes = np.float32([[0.25, 0.25, 0.5, 0.75]])  # left, top, right, bottom
        gradiva.bbox_paste(boxes, ratio=2.0, paste_x=0.0, paste_y=0.0, ltrb=True)
        # [[0.125, 0.125, 0.25, 0.375]]
    """
    check_flat_boxes(input)
    return input


@bbox_paste.shapes
def _bbox_paste_shapes(call: op.Call) -> op.BatchShape:
    check_fours(call.inputs[0])
    warn_of_pixels(call.inputs[0], "bbox_paste")
    return call.inputs[0].batch_shape


@op.jit
def _paste_boxes(
    slabs: Slabs,
    volumes: I64Vector,
    ratios: F32Vector,
    places: F32Table,
    corners: bool,
    begin: int,
    end: int,
) -> None:
    """Move boxes with an image that is pasted onto a larger canvas.

    volumes: the elements of each sample; ratios: the size of the canvas in sizes of the image;
    places: (N, 2), where the image lies, from 0 to 1; corners: whether boxes are two corners, or
    else a corner and a size.
    """
    source, source_offsets, target, target_offsets = slabs
    for i in range(begin, end):
        scale = 1.0 / np.float64(ratios[i])
        for k in range(volumes[i]):
            value = np.float64(source[source_offsets[i] + k]) * scale
            if corners or k % 4 < 2:
                value += np.float64(places[i, k % 2]) * (1.0 - scale)
            target[target_offsets[i] + k] = np.float32(value)


@bbox_paste.cpu
def _bbox_paste_cpu(call: op.Call) -> None:
    ratio = call["ratio"]
    places = np.stack([call["paste_x"], call["paste_y"]], axis=1)
    bad = ~((ratio >= 1) & np.isfinite(ratio))
    op.refuse_samples(bad, "ratio", "a number from 1 on", ratio)
    for axis, name in enumerate(("paste_x", "paste_y")):
        op.refuse_samples(~np.isfinite(places[:, axis]), name, "a number", places[:, axis])
    volumes = call.outputs[0].batch_shape.volumes
    call.for_samples(_paste_boxes, call.slabs, volumes, ratio, places, call["ltrb"])


@bbox_paste.cases
def _bbox_paste_cases() -> list[op.Case]:
    boxes = _boxes()
    centered = [
        np.array([[0.375, 0.5, 0.125, 0.0625]], np.float32),
        np.array([[0.5, 0.375, 0.375, 0.25], [0.25, 0.25, 0.5, 0.5]], np.float32),
    ]
    corners = [
        np.array([[0.0625, 0.875, 0.0625, 0.78125]], np.float32),
        np.array([[0.125, 0.8125, 0.1875, 0.875], [0, 0.75, 0.25, 1]], np.float32),
    ]
    return [
        op.case("centered", boxes, ratio=2).equals(centered),
        op.case("as large", boxes, ratio=1, paste_x=0.3).equals([boxes.at(0), boxes.at(1)]),
        op.case(
            "corners, per sample", boxes, ratio=4, paste_x=[0.0, 0.0], paste_y=[1.0, 1.0], ltrb=True
        ).equals(corners),
        op.case("flat", op.batch([box.ravel() for box in map(np.asarray, boxes)]), ratio=2).equals(
            [box.ravel() for box in centered]
        ),
        op.case("empty", op.samples(dtype=op.float32, layout=""), ratio=2).equals([]),
        op.case("wrong dtype", op.samples((2, 4), dtype=op.float64, layout=""), ratio=2).type_error(
            "dtype"
        ),
        op.case("smaller", boxes, ratio=[1.0, 0.5]).value_error("`ratio`"),
        op.case("no place", boxes, ratio=2, paste_y=float("nan")).value_error("`paste_y`"),
        op.case("no ratio", boxes).type_error("`ratio`"),
        op.case("six numbers", op.samples((6,), dtype=op.float32, layout=""), ratio=2).value_error(
            "sample 0"
        ),
    ]
