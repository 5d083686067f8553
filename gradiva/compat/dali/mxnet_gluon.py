"""Iterators that return lists of MXNet arrays, for loops of Gluon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.iterators.iterator_options import IteratorValueError
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.values.batch import Batch

from .mxnet_arrays import dense, to_mxnet

__all__ = ["DALIGluonIterator"]


class DALIGluonIterator(PipelineIterator):
    """Each turn gives, for each pipeline, a list with an array for each output; see
    `PipelineIterator` for the other arguments.

    output_types: for each output DENSE_TAG (one array, the default), or SPARSE_TAG (a list of
        arrays) for samples of different shapes. Raises OperatorValueError for another one.
    """

    DENSE_TAG = "dense"
    SPARSE_TAG = "sparse"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: bool | str | None = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        first = pipelines if isinstance(pipelines, Pipeline) else next(iter(pipelines), None)
        count = first.num_outputs if isinstance(first, Pipeline) else 0
        tags = (self.DENSE_TAG, self.SPARSE_TAG)
        types = [self.DENSE_TAG] * count if output_types is None else list(output_types)
        if len(types) != count or any(type not in tags for type in types):
            raise IteratorValueError(
                operator=type(self).__name__,
                argument="output_types",
                expected=f"one of {', '.join(map(repr, tags))} for each of {count} outputs",
                got=repr(output_types),
            )
        self._types = types
        super().__init__(
            pipelines,
            range(count),
            size,
            reader_name,
            auto_reset,  # type: ignore[arg-type]
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def __next__(self) -> list[Any]:
        """The next batches. Raises StopIteration at the end of the epoch."""
        return [list(turn.values()) for turn in super().__next__()]

    def _convert(self, name: Any, batch: Batch) -> Any:
        if self._types[name] == self.SPARSE_TAG:
            return [to_mxnet(array) for array in batch.cpu().arrays()]
        return to_mxnet(dense(batch))
