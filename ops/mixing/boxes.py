"""Boxes and labels that go with mixed images: moved, cut off, and left out with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float64Array, Int64Array
from gradiva.ops.segmentation.box_rows import warn_of_pixels

LAYOUTS: Final = ("xyXY", "xyWH", "cxcyWH")


@op.argument_group(
    bbox_layout="xyXY", bbox_normalized=True, remove_threshold=0.1, min_area=0.0, min_size=0.0
)
class BoxFormat(TypedDict, total=False):
    """
    Args:
        bbox_layout: "xyXY", corners; "xyWH", a corner and the size; or "cxcyWH", the center and the
            size; as fractions of the image, or pixels with bbox_normalized=False.
        bbox_normalized: whether boxes are in fractions of the image; else in pixels. What is
            returned is in fractions, or pixels, of the output. Fractions over 2 give a warning.
        remove_threshold: a box is removed, and its label, if less than this part of it, from 0 to
            1, is left inside; boxes without an area, with numbers that are not finite, and those of
            which nothing is left, always.
        min_area, min_size: a box is also removed if its area, or its width or height, is less than
            this in the output, in pixels.

    Raises:
        OperatorValueError: for another layout of boxes.
    """

    bbox_layout: str
    bbox_normalized: bool
    remove_threshold: float
    min_area: float
    min_size: float


def check_box_format(options: Any) -> None:
    """Refuse arguments out of range. Raises OperatorValueError, for type rules."""
    if options["bbox_layout"] not in LAYOUTS:
        expected = " or ".join(map(repr, LAYOUTS))
        raise op.wrong_value("bbox_layout", expected, repr(options["bbox_layout"]))
    if not 0 <= options["remove_threshold"] <= 1:
        raise op.wrong_value(
            "remove_threshold", "a number from 0 to 1", options["remove_threshold"]
        )
    for name in ("min_area", "min_size"):
        if not options[name] >= 0:
            raise op.wrong_value(name, "pixels from 0 on", options[name])


def check_objects(boxes: op.SampleType) -> None:
    """Refuse what is no 2-D batch of boxes. Raises OperatorTypeError."""
    op.require_dtype(boxes, (op.float32, op.float64), "boxes")
    op.require_ndim(boxes, (2,), "boxes")


def moved_type(labels: op.SampleType) -> op.SampleType:
    """The type of labels of objects. Raises OperatorTypeError."""
    if labels.ndim == 0:
        op.require_ndim(labels, (1, 2), "the input of labels")
    return labels.with_(layout="")


def to_corners(boxes: Array, layout: str) -> Float64Array:
    """(n, 4) left, top, right and bottom, of boxes in one of `LAYOUTS`."""
    found = boxes.astype(np.float64)
    if layout == "cxcyWH":
        found[:, :2] -= found[:, 2:] * 0.5
    if layout != "xyXY":
        found[:, 2:] += found[:, :2]
    return found


def from_corners(corners: Float64Array, layout: str) -> Float64Array:
    """Boxes in one of `LAYOUTS`."""
    found = corners.copy()
    if layout != "xyXY":
        found[:, 2:] -= found[:, :2]
    if layout == "cxcyWH":
        found[:, :2] += found[:, 2:] * 0.5
    return found


@dataclass(frozen=True)
class MovedRows:
    """Rows of samples that were computed or chosen before there are outputs.

    shapes: of the outputs; values: the rows of all outputs, one after the other, (R, width); taken:
    of each row the sample that it is from, and its number there, (R,); counts: how many rows each
    output has, (N,).
    """

    shapes: Int64Array
    values: Array
    taken: tuple[Int64Array, Int64Array]
    counts: Int64Array

    def fill(self, output: op.Batch) -> None:
        """Fill an output with the rows."""
        width = self.values.shape[1]
        begins = np.cumsum(self.counts) - self.counts
        place = np.arange(len(self.values)) - np.repeat(begins, self.counts)
        at = np.repeat(output.batch_shape.offsets, self.counts) + place * width
        output.data[at[:, None] + np.arange(width)] = self.values


def _rows_of(batch: op.Batch, samples: Int64Array, numbers: Int64Array, width: int) -> Array:
    """(n, width): row `numbers` of each of the samples."""
    at = batch.batch_shape.offsets[samples] + numbers * width
    return batch.data[at[:, None] + np.arange(width)]  # type: ignore[no-any-return]


def move_boxes(
    call: op.Call,
    boxes: op.Batch,
    pasted: tuple[Int64Array, Int64Array],
    extents: Int64Array,
    sizes: Int64Array,
) -> MovedRows:
    """The boxes of pasted images, in the outputs. Raises OperatorValueError for what is no box.

    pasted: the images of each output, (N, P), and where they begin in it (y, x), (N, P, 2);
    extents, sizes: heights and widths of the images and of the outputs, (N, 2).
    """
    partners, corners = pasted
    widths = boxes.batch_shape.shapes[:, 1]
    op.refuse_samples(
        widths != 4, "", "(n, 4)", boxes.batch_shape.shapes, "boxes have four numbers"
    )
    parts = partners.shape[1]
    lengths = boxes.batch_shape.shapes[:, 0][partners].reshape(-1)
    piece = np.repeat(np.arange(lengths.size), lengths)
    number = np.arange(piece.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    owner, sample = piece // parts, partners.reshape(-1)[piece]
    layout, relative = call["bbox_layout"], call["bbox_normalized"]
    if relative:
        warn_of_pixels(boxes, call.operator.name)
    found = to_corners(_rows_of(boxes, sample, number, 4), layout)
    image = np.tile(extents[sample, ::-1], 2).astype(np.float64)
    canvas = np.tile(sizes[owner, ::-1], 2).astype(np.float64)
    with np.errstate(all="ignore"):  # what is not finite is left out
        found = found * image if relative else found
        before = _areas(found)
        found = found + np.tile(corners.reshape(-1, 2)[piece, ::-1], 2)
        found = np.minimum(np.maximum(found, 0.0), canvas)
        after = _areas(found)
        kept = np.isfinite(before) & (after > 0) & (after >= call["remove_threshold"] * before)
        # Fractions of an image have their rounding.
        kept &= after >= call["min_area"] * (1 - 1e-6)
        kept &= (found[:, 2:] - found[:, :2] >= call["min_size"] * (1 - 1e-6)).all(axis=1)
    found = found[kept]
    found = from_corners(found / canvas[kept] if relative else found, layout)
    counts = np.bincount(owner[kept], minlength=call.size)
    shapes = np.stack([counts, np.full_like(counts, 4)], axis=1)
    return MovedRows(shapes, found, (sample[kept], number[kept]), counts)


def _areas(corners: Float64Array) -> Float64Array:
    """The areas of boxes. What is thinner than a hundredth of a pixel is rounding: it has none."""
    sides = corners[:, 2:] - corners[:, :2]
    areas: Float64Array = np.where((sides < 0.01).any(axis=1), 0.0, sides[:, 0] * sides[:, 1])
    return areas


def move_rows(labels: op.Batch, moved: MovedRows, counts: Int64Array) -> MovedRows:
    """The labels of moved objects. counts: how many objects each sample had, (N,). Raises
    OperatorValueError where there are not as many labels, and for labels of several widths."""
    shapes = labels.batch_shape.shapes
    op.refuse_samples(
        shapes[:, 0] != counts,
        "",
        lambda sample: f"{counts[sample]} labels",
        lambda sample: f"{shapes[sample, 0]}",
        "there is a label for each object",
    )
    widths = shapes[:, 1:].prod(axis=1)
    bad = widths != widths[:1]
    op.refuse_samples(bad, "", "", shapes, "the labels of a batch have one width")
    made = shapes.copy()
    made[:, 0] = moved.counts
    width = int(widths[0]) if len(widths) else 1
    values = np.empty((0, width), labels.data.dtype)
    if len(moved.values):
        values = _rows_of(labels, *moved.taken, width)
    return MovedRows(made, values, moved.taken, moved.counts)
