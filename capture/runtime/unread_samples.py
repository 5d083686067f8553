"""The samples that the decoder of a group cannot read, if it continues after errors
(`on_error`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node, Opaque
from gradiva.eager.execution.error_policy import quarantine_samples, skips
from gradiva.eager.random.step import narrow_step
from gradiva.eager.runtime.host_memory import ALIGNMENT
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch

from .dropped_samples import SampleIndices, drop_inside
from .fusion_report import NotFusableError, Reason

__all__ = ["UnreadSamples"]

Values = dict[tuple[Node, int], Batch]
EagerRandomOrigin = dict[Node, tuple[Any, Any]]


class UnreadSamples:
    """The unreadable samples of one run of a group, by their numbers before any was dropped.

    They are reported exactly as if the decoder ran alone.
    """

    def __init__(self, members: Sequence[Node], size: int, where: Provenance | None) -> None:
        self._members = members
        self._size = size
        self._where = where
        self._given = dict(members[0].attributes)
        self.skips = skips(self._given)
        self.fill_value = self._given.get("fill_value", 0.0)
        self._errors: dict[int, GradivaError] = {}
        self._kept: SampleIndices = np.arange(size)

    def without(
        self, errors: dict[int, GradivaError], values: Values, drawn: EagerRandomOrigin
    ) -> tuple[int, Values, EagerRandomOrigin]:
        """The input of the group without samples whose headers cannot be read, and the remaining
        number of samples. Raises NotFusableError if none is left."""
        values, drawn = dict(values), dict(drawn)
        size = drop_inside(sorted(errors), self._size, values, drawn)
        self._leave_out(errors)
        return size, values, drawn

    def _leave_out(self, errors: dict[int, GradivaError]) -> None:
        for row, error in errors.items():
            self._errors[int(self._kept[row])] = error
        self._kept = np.delete(self._kept, sorted(errors))
        if not len(self._kept):
            raise NotFusableError(Reason.BAD_SAMPLE)

    def finish(self, target: Batch, errors: dict[int, GradivaError], dropped: list[int]) -> Batch:
        """The output without samples that could not be decoded; tells of all that were not read.

        errors: of the decoder; dropped: takes those that were left out. Raises NotFusableError
        where the members have to be told how many samples are left.
        """
        if self.skips and errors:
            if any(_is_per_sample(member) for member in self._members[1:]):
                raise NotFusableError(Reason.BAD_SAMPLE)
            self._leave_out(errors)
            target = _compacted(target, np.delete(np.arange(len(target)), sorted(errors)))
        elif not self.skips:
            self._errors.update(errors)
        if not self._errors:
            return target
        quarantine_samples(self._errors, self._members[0].operator.name, self._where)
        if self.skips:
            dropped.extend(sorted(self._errors))
            if self._where is not None:
                narrow_step(self._where.positions[self._kept])
        return target


def _is_per_sample(member: Node) -> bool:
    """Whether an argument has a row for each sample, so that rows would have to be dropped."""
    return any(
        isinstance(value.value if isinstance(value, Opaque) else value, np.ndarray)
        for _, value in member.attributes
    )


def _compacted(batch: Batch, kept: SampleIndices) -> Batch:
    """The batch with these samples only, one after the other as if it had never had more: those
    before one that is left out move up in its memory, or those after it down, whichever are less.
    """
    old, new = batch.batch_shape, BatchShape.of(batch.batch_shape.shapes[kept])
    sizes = old.volumes[kept]
    distances = old.offsets[kept] - new.offsets
    starts = [int(one) for one in np.unique(distances) if one % ALIGNMENT == 0]  # of bytes, too
    start = min(starts, key=lambda one: int(sizes[distances != one].sum()), default=0)
    moved = np.flatnonzero(distances != start)
    up = distances[moved] < start
    for row in (*moved[up][::-1], *moved[~up]):
        source, size = int(old.offsets[kept[row]]), int(sizes[row])
        to = start + int(new.offsets[row])
        batch.data[to : to + size] = batch.data[source : source + size]
    where = batch.provenance.select(kept.tolist()) if batch.provenance is not None else None
    return Batch.over(batch.data[start : start + new.size], new, batch.type, where)
