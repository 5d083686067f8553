"""Iterators that return Paddle tensors, for training loops."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.iterators.iterator_options import IteratorValueError, entries_of
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.bfloat16 import export, is_bfloat16
from gradiva.eager.types.device import CPU
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "LastBatchPolicy",
    "feed_ndarray",
    "lod_tensor_clip",
    "recursive_length",
    "to_paddle_type",
]

paddle = lazy_module("paddle", '"gradiva[paddle]"')

_TYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "bfloat16": "BF16",
    "float32": "FP32",
    "float64": "FP64",
}
"""What Paddle calls the element types that it has."""
_LACKING = ("uint16",)
"""Element types that Paddle has not: it takes uint16 for bfloat16."""


class DALIGenericIterator(PipelineIterator):
    """Each turn gives, for each pipeline, a dict of Paddle tensors with a leading batch axis; see
    `PipelineIterator` for the other arguments.

    output_map: a name for each output, or (name, levels) for samples of different shapes: with
        levels of one and more, a tensor of all of them one after the other, along the first axis,
        whose `lod()` says where each begins. Dense tensors lie in the memory of the batches:
        nothing is copied, and nothing overwritten while Paddle holds a tensor.
    dynamic_shape: accepted; shapes may always differ from batch to batch.

    Raises OperatorValueError for a ragged batch without levels, OperatorTypeError for elements that
    Paddle has not (uint16), ImportError without Paddle.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        with annotate_error(type(self).__name__):
            self._levels = _levels(output_map)
            if len(self._levels) != len(output_map):
                raise IteratorValueError(
                    argument="output_map", expected="names that differ", got=describe(output_map)
                )
        super().__init__(
            pipelines,
            list(self._levels),
            size,
            reader_name,
            auto_reset,  # type: ignore[arg-type]
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, name: Any, batch: Batch) -> Any:
        levels = self._levels[name]
        if levels:
            return _joined(batch, levels)
        return paddle.utils.dlpack.from_dlpack(_capsule(batch))

    def _convert_numbers(self, batch: Batch) -> Any:
        return paddle.utils.dlpack.from_dlpack(_capsule(batch))


class DALIClassificationIterator(DALIGenericIterator):
    """DALIGenericIterator for pipelines of images and labels: the dicts have `data` and `label`."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )


def feed_ndarray(dali_tensor: Batch | Tensor, ptr: Any, cuda_stream: Any = None) -> Any:
    """Copy the elements of a tensor, or of all samples of a batch, to an address.

    ptr: an integer or a pointer of ctypes, such as `data_ptr()` of a Paddle tensor, with room for
    them. Returns it. Raises OperatorTypeError for what is no address.
    """
    with annotate_error("feed_ndarray"):
        copy = getattr(dali_tensor, "copy_to_external", None)
        if copy is None:
            raise wrong_type(
                "dali_tensor", "a tensor or a batch of a pipeline", describe(dali_tensor)
            )
        if dali_tensor.device is CPU:
            copy(ptr)
        else:
            copy(ptr, cuda_stream, non_blocking=cuda_stream is not None)
    return ptr


def __getattr__(name: str) -> Any:
    if name == "dtype_map":
        kinds = _variable_types()
        return {DType.of(ours): getattr(kinds, theirs) for ours, theirs in _TYPES.items()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _variable_types() -> Any:
    return paddle.framework.core.VarDesc.VarType


def to_paddle_type(tensor: Batch | Tensor) -> Any:
    """What Paddle calls the element type of a tensor or a batch. Raises OperatorTypeError where it
    has none."""
    with annotate_error("to_paddle_type"):
        name = _TYPES.get(tensor.dtype.name)
        if name is None:
            raise wrong_type(
                "", ", ".join(_TYPES), str(tensor.dtype), "Paddle has no such elements"
            )
        return getattr(_variable_types(), name)


def recursive_length(tensor: Any, lod_level: int) -> list[list[int]]:
    """The lengths of the first `lod_level` axes of a batch, as a tensor with levels has them: how
    many samples, how many rows each sample has, and so on. Of an array or a tensor, those of its
    parts. Raises OperatorValueError for more levels than axes."""
    with annotate_error("recursive_length"):
        if isinstance(tensor, Batch):
            shapes = [(len(tensor), *shape) for shape in tensor.batch_shape.shapes.tolist()]
        else:
            shape = tensor.shape() if callable(tensor.shape) else tensor.shape
            shapes = [tuple(int(length) for length in shape)]
        axes = min(map(len, shapes), default=lod_level)
        if lod_level > axes:
            raise wrong_value("lod_level", f"at most {axes}", str(lod_level))
        if not lod_level:
            return []
        if isinstance(tensor, Batch):
            return [[len(tensor)], *_lengths([shape[1:] for shape in shapes], lod_level - 1)]
        return _lengths(shapes, lod_level)


def lod_tensor_clip(lod_tensor: Any, size: int) -> Any:
    """The first `size` parts of the outermost level of a tensor with levels, or its first `size`
    rows if it has none; a copy on the CPU."""
    lengths, kept, count = lod_tensor.recursive_sequence_lengths(), [], size
    for level in lengths:
        kept.append(level[:count])
        count = sum(kept[-1])
    made = paddle.framework.core.LoDTensor()
    made.set(np.array(lod_tensor)[:count], paddle.CPUPlace())
    if kept:
        made.set_recursive_sequence_lengths(kept)
    return made


def _levels(output_map: Sequence[Any]) -> Mapping[Any, int]:
    """How many levels of lengths each output has, by its name. Raises OperatorValueError."""
    found = {}
    for one in entries_of(output_map):
        pair = isinstance(one, tuple | list)
        name, levels = one if pair and len(one) == 2 else (one, 0)
        named = isinstance(name, Hashable) and not isinstance(name, tuple)
        if not named or not isinstance(levels, int) or levels < 0:
            raise wrong_value(
                "output_map", "names, or (name, levels) with a number of levels", describe(one)
            )
        found[name] = levels
    return found


def _capsule(batch: Batch, array: np.ndarray[Any, Any] | None = None) -> Any:
    """A DLPack capsule of a dense batch on its own memory; or of an array that was made of it."""
    if batch.dtype.name in _LACKING:
        raise wrong_type(
            "", "another dtype", str(batch.dtype), "Paddle has no such elements: cast before"
        )
    if batch.device is not CPU:
        return batch.__dlpack__(stream=paddle.device.cuda.current_stream().cuda_stream)
    whole = batch.as_array() if array is None else array
    if not whole.flags.writeable:
        whole = whole.copy()
    return (export if is_bfloat16(whole.dtype) else np.ndarray.__dlpack__)(whole)


def _joined(batch: Batch, levels: int) -> Any:
    """All samples one after the other, with the lengths of their first `levels` axes."""
    host = batch.cpu()
    shapes = host.batch_shape.shapes
    if levels > host.ndim:
        raise wrong_value("output_map", f"at most {host.ndim} levels", str(levels))
    if len({tuple(shape[levels:]) for shape in shapes.tolist()}) > 1:
        raise OperatorValueError(
            f"the samples differ in more than their first {levels} axes", argument="output_map"
        )
    lengths = _lengths(shapes.tolist(), levels)
    rest = shapes[0, levels:].tolist() if len(shapes) else [0] * (host.ndim - levels)
    flat = [array.reshape(-1, *rest) for array in host.arrays()]
    whole = np.concatenate(flat) if flat else np.empty((0, *rest), host.dtype.numpy)
    tensor = paddle.base.core.from_dlpack(_capsule(host, whole))
    tensor.set_recursive_sequence_lengths(lengths)
    return tensor


def _lengths(shapes: Sequence[Sequence[int]], levels: int) -> list[list[int]]:
    """Each sample has shape[0] parts, each of these shape[1], and so on."""
    lengths: list[list[int]] = [[] for _ in range(levels)]
    for shape in shapes:
        parts = 1
        for level in range(levels):
            lengths[level] += [shape[level]] * parts
            parts *= shape[level]
    return lengths
