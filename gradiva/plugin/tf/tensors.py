"""Batches as tensors of TensorFlow, on the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.runtime.host_memory import ALIGNMENT, allocate
from gradiva.eager.types.bfloat16 import export, is_bfloat16
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.batch import Batch

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(
        f'gradiva needs tensorflow for this; install it with: pip install "gradiva[tf]" ({error})'
    ) from error

__all__ = ["dtype_of", "output_specs", "shareable", "tf", "to_tensor"]


def shareable(batch: Batch) -> np.ndarray[Any, Any]:
    """The samples of a dense batch as one array that TensorFlow can take as it is: aligned, for
    other memory ends its process, and writable. A copy where the batch is not so; batches on a GPU
    are fetched. Raises OperatorValueError if the shapes of the samples differ."""
    array = np.ascontiguousarray(batch.cpu().as_array())
    if array.flags.writeable and array.ctypes.data % ALIGNMENT == 0:
        return array
    made = allocate(array.size, array.dtype).reshape(array.shape)
    made[...] = array
    return made


def to_tensor(batch: Batch) -> Any:
    """The samples of a dense batch as one eager tensor with a leading axis, in the memory of the
    batch, which is kept until TensorFlow releases it; see `shareable`."""
    array = shareable(batch)
    if array.size == 0:
        return tf.zeros(array.shape, dtype_of(batch.dtype))
    capsule = (export if is_bfloat16(array.dtype) else np.ndarray.__dlpack__)(array)
    return tf.experimental.dlpack.from_dlpack(capsule)


def dtype_of(dtype: DType) -> Any:
    """The element type under its name in TensorFlow."""
    return tf.as_dtype(str(dtype))


def output_specs(pipe: Pipeline) -> list[Any]:
    """A tf.TensorSpec of each output of a pipeline, as far as it is known without data: with a
    leading axis for the batch; None where the dtype is not known."""
    specs = []
    for symbol in pipe._defined():
        dtype, ndim = symbol.type.dtype, symbol.type.ndim
        shape = None if ndim is None else [None] * (ndim + 1)
        specs.append(None if dtype is None else tf.TensorSpec(shape, dtype_of(dtype)))
    return specs
