"""Iterators that return NumPy arrays."""

from __future__ import annotations

from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.eager.values.batch import Batch

__all__ = ["DALIGenericIterator", "DALIRaggedIterator", "LastBatchPolicy"]


class DALIGenericIterator(PipelineIterator):
    """Each turn gives, for each pipeline, a dict of arrays with a leading batch axis; see
    `PipelineIterator`. Outputs on a GPU are fetched. Raises OperatorValueError for a ragged
    batch."""

    _if_ragged = ", or use DALIRaggedIterator"

    def _convert(self, name: Any, batch: Batch) -> Any:
        return batch.cpu().as_array()


class DALIRaggedIterator(PipelineIterator):
    """Like DALIGenericIterator, for samples of different shapes: lists of arrays."""

    def _convert(self, name: Any, batch: Batch) -> Any:
        return batch.cpu().arrays()
