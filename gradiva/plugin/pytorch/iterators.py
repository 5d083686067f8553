"""Iterators that return torch tensors, for training loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.iterators.iterator_options import (
    IteratorTypeError,
    IteratorValueError,
    is_fact,
    list_of_names,
)
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import OperatorValueError, annotate_error
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor

if TYPE_CHECKING:
    import torch

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "feed_ndarray",
]


class DALIGenericIterator(PipelineIterator):
    """Each turn gives, for each pipeline, a dict of torch tensors with a leading batch axis; see
    `PipelineIterator` for the other arguments.

    The tensors lie in the memory of the batches: nothing is copied, and nothing overwritten while
    a tensor is held. dynamic_shape: accepted; shapes may always differ from batch to batch. Raises
    OperatorValueError for a ragged batch, ImportError without torch.
    """

    _if_ragged = ", or use DALIRaggedIterator"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, name: Any, batch: Batch) -> Any:
        return batch.torch()

    def _convert_numbers(self, batch: Batch) -> Any:
        return batch.torch()


class DALIClassificationIterator(DALIGenericIterator):
    """DALIGenericIterator for pipelines of images and labels: the dicts have `data` and `label`."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str = False,
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


class DALIRaggedIterator(DALIGenericIterator):
    """Like DALIGenericIterator, for samples whose shapes differ.

    output_types: for each output DENSE_TAG (one tensor, the default), SPARSE_LIST_TAG (a list of
    tensors) or SPARSE_COO_TAG (one sparse tensor of the largest shape). Raises OperatorValueError
    for another one, and for a ragged batch of a dense output.
    """

    _if_ragged = ", or give this output the type SPARSE_LIST_TAG in `output_types`"
    DENSE_TAG = "dense"
    SPARSE_LIST_TAG = "list"
    SPARSE_COO_TAG = "coo"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: bool | str = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        tags = (self.DENSE_TAG, self.SPARSE_LIST_TAG, self.SPARSE_COO_TAG)
        with annotate_error(type(self).__name__):
            names = [name for name in list_of_names(output_map) if not is_fact(name)]
        several = isinstance(output_types, Sequence)
        types = [self.DENSE_TAG] * len(names) if output_types is None else output_types
        if (
            not (several or output_types is None)
            or len(types) != len(names)
            or any(type not in tags for type in types)
        ):
            raise OperatorValueError(
                operator=type(self).__name__,
                argument="output_types",
                expected=f"one of {', '.join(map(repr, tags))} for each output",
                got=repr(output_types),
            )
        self._types = dict(zip(names, types, strict=True))
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def _convert(self, name: Any, batch: Batch) -> Any:
        kind = self._types[name]
        if kind == self.DENSE_TAG:
            return batch.torch()
        if kind == self.SPARSE_LIST_TAG:
            return [sample.torch() for sample in batch]
        return batch.torch(pad=True).to_sparse_coo()


def feed_ndarray(dali_tensor: Batch | Tensor, arr: torch.Tensor, cuda_stream: Any = None) -> Any:
    """Copy a tensor or a dense batch into a torch tensor of the same shape and type, in place.

    Returns `arr`. Raises OperatorValueError for another shape, OperatorTypeError for another type.
    """
    with annotate_error("feed_ndarray"):
        given = dali_tensor.torch()
        if given.dtype != arr.dtype:
            raise IteratorTypeError(argument="arr", expected=str(given.dtype), got=str(arr.dtype))
        if given.shape != arr.shape:
            raise IteratorValueError(
                argument="arr", expected=str(tuple(given.shape)), got=str(tuple(arr.shape))
            )
    return arr.copy_(given)
