"""From the result of the function for a batch to the results of its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager.execution.quarantine import Quarantined
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, SampleDataError
from gradiva.eager.values.batch import Batch

__all__ = ["LOST", "lost_sample", "rows_of"]

LOST: Final = object()
"""In place of the result of a request whose sample was left out."""


def rows_of(
    result: Any, positions: np.ndarray[Any, Any], lost: Mapping[int, Quarantined]
) -> list[Any]:
    """The result of each request, or LOST, in the order of `positions`.

    result: a batch, an array or a list with a row for each sample; None; or tuples and dicts of
    these. lost: by position, the samples that operators have skipped or replaced. Nothing is
    copied.

    Raises OperatorTypeError for other values, OperatorValueError for another number of rows.
    """
    return _Rows(positions, lost).column(result)


def lost_sample(entry: Quarantined | None) -> SampleDataError:
    """The error of a request whose sample was left out."""
    if entry is None:
        return SampleDataError("the function has left out this sample", operator="Batcher")
    return SampleDataError(entry.reason, operator=entry.operator, file=entry.file)


@dataclass(frozen=True, slots=True)
class _Rows:
    positions: np.ndarray[Any, Any]
    lost: Mapping[int, Quarantined]

    def column(self, value: Any) -> list[Any]:
        """The rows of a part of the result."""
        if value is None:
            return [None] * len(self.positions)
        if isinstance(value, Batch):
            batch = value.evaluate()
            return self._placed(batch.tensors, self._places(batch))
        if isinstance(value, dict):
            columns = map(self.column, value.values())
            return self._together(columns, lambda row: dict(zip(value, row, strict=True)))
        if isinstance(value, tuple) and value:
            make: Any = getattr(type(value), "_make", tuple)
            return self._together(map(self.column, value), make)
        if isinstance(value, list):
            if value and all(isinstance(one, Batch) for one in value):
                return self._together(map(self.column, value), list)
            return self._placed(value, self._survivors(len(value)))
        shape: Any = getattr(value, "shape", ())
        if shape:
            count = len(value)
            return self._placed([value[k] for k in range(count)], self._survivors(count))
        raise OperatorTypeError(
            operator="Batcher",
            expected="a function that returns batches, arrays or lists with a row for each sample, "
            "or tuples or dicts of these",
            got=f"a {type(value).__name__}",
        )

    def _together(self, columns: Any, make: Any) -> list[Any]:
        rows = zip(*columns, strict=True)
        made = [LOST if any(one is LOST for one in row) else make(row) for row in rows]
        return made or [make(())] * len(self.positions)

    def _placed(self, rows: Sequence[Any], places: Any) -> list[Any]:
        """The rows in the order of the requests. places: the request of each row."""
        if places is None:
            return list(rows)
        found: list[Any] = [LOST] * len(self.positions)
        for place, row in zip(places, rows, strict=True):
            found[place] = row
        return found

    def _places(self, batch: Batch) -> Any:
        """The request of each sample of a batch, by its position where that is known."""
        own = batch.positions
        if own is None or np.array_equal(own, self.positions):
            return self._survivors(len(batch))
        if not np.isin(own, self.positions).all():
            return self._survivors(len(batch))  # positions of another source
        if len(np.unique(own)) < len(own):
            raise self._wrong(len(own), ", of which some are of one request")
        return np.searchsorted(self.positions, own).tolist()

    def _survivors(self, count: int) -> Any:
        """The request of each of `count` rows whose positions are not known. None if they are as
        many as the requests."""
        if count == len(self.positions):
            return None
        left = [k for k, one in enumerate(self.positions.tolist()) if one not in self.lost]
        if count != len(left):
            raise self._wrong(count)
        return left

    def _wrong(self, count: int, more: str = "") -> OperatorValueError:
        return OperatorValueError(
            "the function must return a row for each sample",
            operator="Batcher",
            expected=f"{len(self.positions)} rows",
            got=f"{count}{more}",
        )
