"""What the operators on boxes share: checks of inputs, all boxes of a batch as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Array, I64Vector, Slabs

_FAR: Final = 2
"""How far a box may reach, in extents of the image: rotated and pasted ones may leave it."""
_DIVIDE: Final = (
    "; divide pixels by the width and the height of the image (readers.COCO does it, with "
    "`ratio=True`)"
)


def check_flat_boxes(input: op.SampleType) -> None:
    """Refuse samples that are no float32 boxes of any rank. Raises OperatorTypeError."""
    op.require_dtype(input, (op.float32,), "boxes")
    if input.ndim == 0:
        raise op.OperatorTypeError(
            "boxes have the wrong number of axes", expected="four numbers a box", got="scalars"
        )


def check_fours(batch: op.Batch) -> None:
    """Refuse samples whose last axis does not hold whole boxes (of four numbers; several, one after
    the other, in 1-D samples). Raises OperatorValueError."""
    lengths = batch.batch_shape.shapes[:, -1]
    bad = (lengths % 4 != 0) if batch.ndim == 1 else (lengths != 4)
    op.refuse_samples(bad, "", "(..., 4)", batch.batch_shape.shapes, "boxes have four numbers")


def warn_of_pixels(boxes: op.Batch, operator: str) -> None:
    """Warn where boxes, which are in fractions of the image, look like pixels: a number over 2.
    What is infinite looks like nothing."""
    if boxes.device.device_type != "cpu":
        return
    shape = boxes.batch_shape
    arrays = [boxes.data[: shape.size]] if shape.dense else boxes.arrays()
    if any(((np.abs(array) > _FAR) & np.isfinite(array)).any() for array in arrays):
        warn_user(
            f"{operator}: boxes are in fractions of the image, and these look like pixels: there "
            f"are numbers over {_FAR}{_DIVIDE}"
        )


def pixels_hint(box: np.ndarray[Any, Any]) -> str:
    """What to say of a box that is not in fractions of the image: what to do, if it looks like
    pixels."""
    return _DIVIDE if (np.abs(box) > _FAR).any() else ""


def check_boxes(boxes: op.SampleType, labels: op.SampleType | None) -> None:
    """Refuse what is no 2-D float32 batch of boxes, with int32 labels. Raises OperatorTypeError."""
    op.require_dtype(boxes, (op.float32,), "boxes")
    op.require_ndim(boxes, (2,), "boxes")
    if labels is not None:
        op.require_dtype(labels, (op.int32,), "labels")
        op.require_ndim(labels, (1, 2), "labels")


def check_labels(call: op.Call, one: bool = False) -> None:
    """Refuse labels (the second input) that are not as many as boxes, or with `one` of several
    numbers each. Raises OperatorValueError."""
    boxes, labels = call.inputs[0].batch_shape.shapes, call.inputs[1].batch_shape.shapes
    problem = "there is a label for each box"
    op.refuse_samples(
        boxes[:, 0] != labels[:, 0],
        "",
        "as many labels as boxes",
        lambda sample: f"{labels[sample, 0]} and {boxes[sample, 0]}",
        problem,
    )
    if one and labels.shape[1] == 2:
        op.refuse_samples(labels[:, 1] != 1, "", "(n,) or (n, 1)", labels, problem)


@dataclass(frozen=True)
class BoxRows:
    """values: (total, width); of each sample, `counts` rows from `starts` on."""

    values: Array
    starts: op.Int64Array
    counts: op.Int64Array

    def sample(self, row: int) -> int:
        """Whose row it is."""
        return int(np.searchsorted(self.starts + self.counts, row, side="right"))


def box_rows(boxes: op.Batch, width: int) -> BoxRows:
    """The boxes of a 2-D batch, (n, width) each, in its dtype; a view where memory allows it."""
    counts = boxes.batch_shape.shapes[:, 0]
    if boxes.batch_shape.dense:
        values = boxes.data[: boxes.batch_shape.size]
    else:
        values = np.concatenate([np.empty(0, boxes.data.dtype), *map(np.ravel, boxes.arrays())])
    return BoxRows(values.reshape(-1, width), np.cumsum(counts) - counts, counts)


@op.jit
def keep_kernel(
    slabs: Slabs,
    widths: op.Int64Array,
    kept: Array,
    places: tuple[I64Vector, I64Vector],
    begin: int,
    end: int,
) -> None:
    """Copy the rows of each sample that are marked, one after the other."""
    source, begins, target, offsets = slabs
    starts, counts = places
    for i in range(begin, end):
        width, there = widths[i], offsets[i]
        for row in range(counts[i]):
            if kept[starts[i] + row]:
                here = begins[i] + row * width
                for k in range(width):
                    target[there + k] = source[here + k]
                there += width


def keep_rows(
    call: op.Call, number: int, source: Array, places: op.Int64Array, kept: Array, rows: BoxRows
) -> None:
    """Fill an output with the rows of flat `source` that are marked in `kept`, (total,); those of
    a sample begin at its place."""
    target = call.outputs[number]
    widths = target.batch_shape.shapes[:, 1:].prod(axis=1)
    slabs = source, places, target.data, target.batch_shape.offsets
    call.for_samples(keep_kernel, slabs, widths, kept, (rows.starts, rows.counts), work=target)
