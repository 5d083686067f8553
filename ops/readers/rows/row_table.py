"""Tables of rows in files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.ops.readers.core.containers import Containers, FileFacts
from gradiva.ops.readers.core.table import Failures, Records, Table
from gradiva.ops.storage.handles import close_handle, open_handle

from .conversions import as_array
from .values import column_of

_AT_ONCE = 256
"""Rows whose sizes are found together."""


class FileRows(Table):
    """The rows of files, one file after the other. counts: how many each has."""

    def __init__(
        self, containers: Containers, counts: Sequence[int], types: Sequence[op.SampleType]
    ) -> None:
        self._containers, self.storage = containers, containers.storage
        self._ends = np.cumsum(np.array(counts, np.int64))
        self._types = types

    def __len__(self) -> int:
        return int(self._ends[-1])

    def _places(self, indices: op.Int64Array) -> tuple[op.Int64Array, op.Int64Array]:
        """The file of each row, and its number in it."""
        files = np.searchsorted(self._ends, indices, side="right")
        return files, indices - np.concatenate([[0], self._ends])[files]

    def names(self, indices: op.Int64Array) -> list[str]:
        files, rows = self._places(indices)
        paths = self._containers.paths
        return [
            f"{paths[file]} at row {row}"
            for file, row in zip(files.tolist(), rows.tolist(), strict=True)
        ]

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """That of the file, and the number of the row."""
        files, rows = self._places(indices)
        known = self._containers.identities_of_files(np.unique(files).tolist(), before)
        return [
            None if known[file] is None else f"{known[file]}\0row {row}"
            for file, row in zip(files.tolist(), rows.tolist(), strict=True)
        ]

    def digest(self) -> dict[str, Any]:
        return {"rows": len(self), "names": self._containers.digest(self._ends)}


class RowTable(FileRows):
    """Rows of files that a library opens, as values of columns."""

    plain = False
    """Whether numbers come from a text, and have no types there."""

    @abstractmethod
    def load(self, file: int, rows: op.Int64Array) -> list[Sequence[Any]]:
        """For each column its values in these rows of a file, which rise; an error in place of a
        value that cannot be read. Raises SampleDataError, OSError for all of them."""

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        files, rows = self._places(indices)
        failures: Failures = {}
        columns: list[list[Any]] = [[None] * len(indices) for _ in self._types]
        for file in np.unique(files).tolist():
            samples = np.flatnonzero(files == file)
            wanted, back = np.unique(rows[samples], return_inverse=True)
            try:
                self.check(file)
                found = self.load(file, wanted)
            except (OSError, op.SampleDataError) as error:
                for sample in samples.tolist():
                    failures[sample] = _failure(error)
                continue
            for sample, row in zip(samples.tolist(), back.tolist(), strict=True):
                for column, values in enumerate(found):
                    try:
                        if isinstance(values[row], op.SampleDataError):
                            raise _failure(values[row])
                        columns[column][sample] = as_array(
                            values[row], self._types[column].dtype, self.plain
                        )
                    except op.SampleDataError as error:
                        failures.setdefault(sample, error)
        made = (
            column_of(values, type.dtype, failures)
            for values, type in zip(columns, self._types, strict=True)
        )
        return Records(tuple(made), failures)

    def check(self, file: int) -> None:
        """Raise OSError for a file that is no longer what it was."""
        handle = open_handle(self._containers.paths[file], self.storage)
        try:
            if FileFacts.of(handle) != self._containers.facts[file]:
                raise OSError("it has changed since the reader was made")
        finally:
            close_handle(handle)

    def sizes(self) -> op.Int64Array:
        """The bytes of the values, which are all read once for that."""
        found = np.zeros(len(self), np.int64)
        pool = default_pool()
        for begin in range(0, len(self), _AT_ONCE):
            rows = np.arange(begin, min(begin + _AT_ONCE, len(self)), dtype=np.int64)
            for column in self.read(rows, pool).columns:
                found[rows] += column.batch_shape.volumes * column.dtype.itemsize
        return found


def _failure(error: OSError | op.SampleDataError) -> op.SampleDataError:
    """An error of one sample: each has its own."""
    if isinstance(error, op.SampleDataError):
        return op.SampleDataError(error.problem, expected=error.expected, got=error.got)
    return op.SampleDataError(f"the file cannot be read: {error.strerror or error}")
