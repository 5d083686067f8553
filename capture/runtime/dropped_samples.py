"""Drops samples from a step: their rows are removed from every live value (`on_error="skip"`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.execution.quarantine import Quarantine, Quarantined, place_of
from gradiva.eager.values.batch import Batch

__all__ = ["BatchOutputs", "SampleIndices", "deliver", "drop_inside", "in_step"]

Values = dict[tuple[Node, int], Batch]
SampleIndices = np.ndarray[Any, np.dtype[np.int64]]


def drop_inside(
    dropped: Sequence[int], size: int, values: Values, drawn: dict[Node, tuple[Any, Any]]
) -> int:
    """The lost samples leave a group that is run member by member: its values, and the positions
    of its random calls. Returns the new size."""
    kept = np.delete(np.arange(size), dropped)
    for place, batch in values.items():
        if len(batch) == size:
            values[place] = keep_rows(batch, kept)
    for node, (key, positions) in drawn.items():
        drawn[node] = (key, positions[kept])
    return len(kept)


def in_step(
    values: Values, dropped: Mapping[Node, Sequence[int]], size: int
) -> tuple[int, SampleIndices | None]:
    """Remove the samples that one source has dropped from the batches of the other sources: samples
    belong together by their number in the batch. Returns the remaining number of samples, and which
    of `size` these are; None for all."""
    gone = sorted({row for rows in dropped.values() for row in rows})
    if not gone:
        return size, None
    for (node, output), batch in values.items():
        stays = ~np.isin(np.delete(np.arange(size), dropped[node]), gone)
        if not stays.all():
            values[node, output] = keep_rows(batch, np.flatnonzero(stays))
    return size - len(gone), np.delete(np.arange(size), gone)


class BatchOutputs(tuple[Batch, ...]):
    """The outputs of one iteration, with the samples that could not be read.

    rows: the samples that are left, among all that were to be read; None if that is all.
    """

    noted: Sequence[Quarantined]
    rows: SampleIndices | None

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
