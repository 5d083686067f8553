"""Labels of mixed samples: a share of each class, in place of one class."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Table, F32Vector, Float32Array, I64Vector, Int64Array

_HINT = (
    "; several classes of a sample are a vector of bool or float32, and one class for each sample "
    "is a batch: gradiva.as_batch(labels)"
)


def check_classes(num_classes: int | None) -> None:
    """Refuse an invalid number of classes. Raises OperatorValueError, for type rules."""
    if num_classes is not None and num_classes < 1:
        raise op.wrong_value("num_classes", "a number of classes from 1 on", num_classes)


def soft_type(labels: op.SampleType, num_classes: int | None) -> op.SampleType:
    """The type of soft labels. Raises OperatorTypeError for labels that are none, and for class
    numbers without `num_classes`."""
    if labels.dtype is not None and labels.dtype.is_integer and not labels.dtype.is_bool:
        if labels.ndim not in (None, 0, 1):
            raise op.OperatorTypeError(
                "the input of labels has the wrong number of axes" + _HINT,
                expected="a class number for each sample, () or (1,)",
                got=f"{labels.ndim}-D samples",
            )
        if num_classes is None:
            raise op.OperatorTypeError(
                "labels that are class numbers need `num_classes`",
                argument="num_classes",
                expected="the number of classes",
                got="None",
            )
    else:
        op.require_ndim(labels, (1,), "the input of labels, which are no class numbers,")
    return op.SampleType(op.float32, 1, "", labels.device)


def soft_shapes(labels: op.Batch, num_classes: int | None) -> op.BatchShape:
    """The shapes of soft labels. Raises OperatorValueError, naming the sample, for classes that
    are out of range, and for vectors of another length."""
    count = len(labels)
    shapes, volumes = labels.batch_shape.shapes, labels.batch_shape.volumes
    if _are_numbers(labels):
        assert num_classes is not None
        problem = "labels are class numbers, one for each sample" + _HINT
        op.refuse_samples(volumes != 1, "", "() or (1,)", shapes, problem)
        values = labels.data[labels.batch_shape.offsets]
        bad = (values < 0) | (values >= num_classes)
        problem = "a label is no class"
        op.refuse_samples(bad, "", f"a class from 0 to {num_classes - 1}", values, problem)
        return op.BatchShape.equal(count, (num_classes,))
    if num_classes is None:
        length = int(volumes[0]) if count else 0
        problem = "labels of a batch have one length"
    else:
        length = num_classes
        problem = "labels have `num_classes` numbers"
    op.refuse_samples(volumes != length, "", f"({length},)", shapes, problem)
    return op.BatchShape.equal(count, (length,))


def _are_numbers(labels: op.Batch) -> bool:
    return labels.dtype.is_integer and not labels.dtype.is_bool


@op.jit
def mark_classes(
    classes: I64Vector,
    partners: I64Vector,
    shares: F32Vector,
    target: F32Table,
    begin: int,
    end: int,
) -> None:
    """Fill rows with the shares of two classes: that of the sample, and that of its partner."""
    for i in range(begin, end):
        row = target[i]
        for k in range(row.size):
            row[k] = np.float32(0)
        row[classes[i]] += shares[i]
        row[classes[partners[i]]] += np.float32(1) - shares[i]


@op.jit
def mix_vectors(
    vectors: F32Table,
    partners: I64Vector,
    shares: F32Vector,
    target: F32Table,
    begin: int,
    end: int,
) -> None:
    """Fill rows with the weighted sums of those of two samples."""
    for i in range(begin, end):
        own, other, row = vectors[i], vectors[partners[i]], target[i]
        share, rest = shares[i], np.float32(1) - shares[i]
        if rest == np.float32(0):
            for k in range(row.size):
                row[k] = own[k]
        else:
            for k in range(row.size):
                row[k] = own[k] * share + other[k] * rest


def mix_labels(
    call: op.Call, labels: op.Batch, number: int, partners: Int64Array, shares: Float32Array
) -> None:
    """Fill an output with soft labels. partners, shares: of each sample, (N,)."""
    output = call.outputs[number]
    target: Any = output.data.reshape(call.size, -1)
    if _are_numbers(labels):
        classes = labels.data[labels.batch_shape.offsets].astype(np.int64)
        call.for_samples(mark_classes, classes, partners, shares, target, work=output)
    else:
        length = target.shape[1]
        rows = [labels.array(sample) for sample in range(call.size)]
        vectors = np.array(rows, np.float32).reshape(call.size, length)
        call.for_samples(mix_vectors, vectors, partners, shares, target, work=output)
