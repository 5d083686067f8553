"""Labels as readers deliver them: their dtype and shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

import numpy as np

from gradiva.eager import extension as op

from .table import column


@op.argument_group(label_dtype=op.int32, label_shape=(1,))
class LabelArguments(TypedDict, total=False):
    """
    Args:
        label_dtype: the element type of the labels, such as "int64", which losses of PyTorch take.
            It must hold all of them.
        label_shape: the shape of a label: (1,), or () for a scalar, so that the labels of a batch
            are one array of shape (batch,).
    """

    label_dtype: op.DTypeLike
    label_shape: op.Ints


class LabelForm(NamedTuple):
    """The dtype and the shape of labels."""

    dtype: op.DType
    shape: tuple[int, ...]

    @staticmethod
    def of(given: Mapping[str, Any]) -> LabelForm:
        """What the arguments of a reader say. Raises OperatorValueError."""
        shape = given["label_shape"]
        if shape not in ((), (1,)):
            raise op.wrong_value("label_shape", "(1,) or ()", shape)
        return LabelForm(op.DType.of(given["label_dtype"]), shape)

    @property
    def type(self) -> op.SampleType:
        """The type of the output."""
        return op.SampleType(self.dtype, len(self.shape), "", "cpu")

    def checked(self, labels: np.ndarray[Any, Any]) -> LabelForm:
        """The same, for labels that fit. Raises OperatorValueError."""
        with np.errstate(invalid="ignore", over="ignore"):
            # Labels fit into int32, so float64 holds them all.
            lost = labels != labels.astype(self.dtype.numpy).astype(np.float64)
        if lost.any():
            raise op.wrong_value(
                "label_dtype",
                "an element type that holds all labels",
                f"{self.dtype.name}, and the label {labels[lost][0]}",
            )
        return self

    def column(self, labels: np.ndarray[Any, Any]) -> op.Batch:
        """The output for these labels, one for each sample."""
        return column(labels, self.shape, self.dtype)
