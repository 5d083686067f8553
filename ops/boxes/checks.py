"""What operators on boxes check alike."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op


def require_flat_boxes(input: op.SampleType) -> None:
    """Refuse samples that are no float32 boxes of any rank. Raises OperatorTypeError."""
    op.require_dtype(input, (op.float32,), "boxes")
    if input.ndim == 0:
        raise op.OperatorTypeError(
            "boxes have the wrong number of axes", expected="four numbers a box", got="scalars"
        )


def require_fours(batch: op.Batch) -> None:
    """Refuse samples whose last axis does not hold whole boxes (of four numbers; several, one after
    the other, in 1-D samples). Raises OperatorValueError."""
    lengths = batch.geometry.shapes[:, -1]
    bad = (lengths % 4 != 0) if batch.ndim == 1 else (lengths != 4)
    refuse(bad, "boxes have four numbers", "(..., 4)", batch.geometry.shapes)


def require_boxes(boxes: op.SampleType, labels: op.SampleType | None) -> None:
    """Refuse what is no 2-D float32 batch of boxes, with int32 labels. Raises OperatorTypeError."""
    op.require_dtype(boxes, (op.float32,), "boxes")
    op.require_ndim(boxes, (2,), "boxes")
    if labels is not None:
        op.require_dtype(labels, (op.int32,), "labels")
        op.require_ndim(labels, (1, 2), "labels")


def require_labels(call: op.Call) -> None:
    """Refuse labels (the second input) that are not one for each box. Raises
    OperatorValueError."""
    boxes, labels = call.inputs[0].geometry.shapes, call.inputs[1].geometry.shapes
    refuse(
        boxes[:, 0] != labels[:, 0],
        "there is a label for each box",
        "as many labels as boxes",
        labels[:, 0],
        boxes[:, 0],
    )


def refuse(
    bad: np.ndarray[tuple[int], np.dtype[np.bool_]],
    problem: str,
    expected: str,
    got: op.Int64Array,
    beside: op.Int64Array | None = None,
    argument: str | None = None,
) -> None:
    """Raise OperatorValueError for the first sample that is bad."""
    if not bad.any():
        return
    sample = int(np.flatnonzero(bad)[0])
    text = str(got[sample].tolist())
    if beside is not None:
        text += f" and {beside[sample].tolist()}"
    raise op.OperatorValueError(
        problem, expected=expected, got=text, sample=sample, argument=argument
    )
