"""What operators on boxes check alike."""

from __future__ import annotations

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.type_rules import require_dtype, require_ndim
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.types.batch_shape import Int64Array
from gradiva.eager.types.dtypes import float32, int32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

__all__ = ["refuse", "require_boxes", "require_flat_boxes", "require_fours", "require_labels"]


def require_flat_boxes(input: SampleType) -> None:
    """Refuse samples that are no float32 boxes of any rank. Raises OperatorTypeError."""
    require_dtype(input, (float32,), "boxes")
    if input.ndim == 0:
        raise OperatorTypeError(
            "boxes have the wrong number of axes", expected="four numbers a box", got="scalars"
        )


def require_fours(batch: Batch) -> None:
    """Refuse samples whose last axis does not hold whole boxes (of four numbers; several, one after
    the other, in 1-D samples). Raises OperatorValueError."""
    lengths = batch.geometry.shapes[:, -1]
    bad = (lengths % 4 != 0) if batch.ndim == 1 else (lengths != 4)
    refuse(bad, "boxes have four numbers", "(..., 4)", batch.geometry.shapes)


def require_boxes(boxes: SampleType, labels: SampleType | None) -> None:
    """Refuse what is no 2-D float32 batch of boxes, with int32 labels. Raises OperatorTypeError."""
    require_dtype(boxes, (float32,), "boxes")
    require_ndim(boxes, (2,), "boxes")
    if labels is not None:
        require_dtype(labels, (int32,), "labels")
        require_ndim(labels, (1, 2), "labels")


def require_labels(call: Call) -> None:
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
    got: Int64Array,
    beside: Int64Array | None = None,
    argument: str | None = None,
) -> None:
    """Raise OperatorValueError for the first sample that is bad."""
    if not bad.any():
        return
    sample = int(np.flatnonzero(bad)[0])
    text = str(got[sample].tolist())
    if beside is not None:
        text += f" and {beside[sample].tolist()}"
    raise OperatorValueError(problem, expected=expected, got=text, sample=sample, argument=argument)
