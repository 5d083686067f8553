"""Drops samples from a step: their rows are removed from every live value (`on_error="skip"`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.eager.execution.error_policy import narrowed, with_mask
from gradiva.eager.execution.quarantine import Quarantine, Quarantined, place_of
from gradiva.eager.values.batch import Batch

__all__ = ["BatchOutputs", "SampleIndices", "deliver", "in_step"]

Values = dict[tuple[Node, int], Batch]
SampleIndices = np.ndarray[Any, np.dtype[np.int64]]


def in_step(values: Values) -> SampleIndices | None:
    """Remove the samples that one source has lost from the batches of the other sources: samples
    belong together by their number in the batch. Returns the numbers of those that are left; None
    for all."""
    masks = [batch.valid for batch in values.values() if batch.valid is not None]
    if not masks:
        return None
    valid = np.logical_and.reduce(masks)
    for place, batch in values.items():
        values[place] = with_mask(narrowed(batch, valid), None)
    return np.flatnonzero(valid)


class BatchOutputs(tuple[Batch, ...]):
    """The outputs of one iteration, with the samples that could not be read.

    rows: the samples that are left, among all that were to be read; None if that is all.
    """

    noted: Sequence[Quarantined]
    rows: SampleIndices | None
    record: Any = None
    """What a receipt of the batch is made of (`capture/receipts/record.py`), if there is one."""

    @staticmethod
    def of(
        outputs: tuple[Batch, ...], noted: Quarantine, rows: SampleIndices | None
    ) -> BatchOutputs:
        made = BatchOutputs(outputs)
        made.noted, made.rows = noted, rows
        return made


def deliver(
    outputs: tuple[Batch, ...], quarantine: Quarantine, iteration: int
) -> tuple[Batch, ...]:
    """The outputs for the user. Unreadable samples are reported to the quarantine."""
    if not isinstance(outputs, BatchOutputs):
        return outputs
    if outputs.noted:
        ordered = sorted(outputs.noted, key=place_of)
        quarantine.record(entry._replace(iteration=iteration) for entry in ordered)
    return tuple(outputs)
