"""`LoadedBatch`: a batch on its way from a loader to a trainer, as arrays and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.capture.receipts.receipt import Receipt, WithReceipt
from gradiva.eager.execution.quarantine import Quarantined
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.provenance import Progress, Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

__all__ = ["Column", "LoadedBatch", "column_of"]


class Column(NamedTuple):
    """One output: an array with a leading batch axis; or, if shapes differ, a 1-D array of all
    samples one after the other, with their shapes, (N, ndim)."""

    data: np.ndarray[Any, Any]
    shapes: np.ndarray[Any, np.dtype[np.int64]] | None
    layout: str

    def batch(self, where: Provenance | None = None) -> Batch:
        """The batch in the same memory."""
        if self.shapes is None:
            shape = BatchShape.equal(len(self.data), self.data.shape[1:])
        else:
            volumes = self.shapes.prod(axis=1)
            ends = volumes.cumsum()
            shape = BatchShape(self.shapes, ends - volumes, int(ends[-1]), False, False)
        kind = SampleType(DType.of(self.data.dtype), shape.ndim, self.layout, "cpu")
        return Batch.over(self.data.reshape(-1), shape, kind, where)


class LoadedBatch(NamedTuple):
    """The outputs of a batch, or the error of one of its samples.

    positions, indices, names: of its samples, as of a `Batch`; progress: of its source. noted:
    samples that were left out or replaced. seconds: that it took to make. exporter: who has the
    arrays that stay where they are (`shared_memory`). receipt: of the batch, where the pipeline
    makes receipts.
    """

    columns: tuple[Column, ...] = ()
    positions: np.ndarray[Any, np.dtype[np.int64]] | None = None
    indices: np.ndarray[Any, np.dtype[np.int64]] | None = None
    names: Sequence[str] | None = None
    noted: Sequence[Quarantined] = ()
    error: GradivaError | None = None
    seconds: float = 0.0
    exporter: str = ""
    progress: Progress | None = None
    receipt: Receipt | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(column.data.nbytes for column in self.columns)

    @property
    def samples(self) -> int:
        return len(self.columns[0].data if self.positions is None else self.positions)

    def batches(self) -> tuple[Batch, ...]:
        """The outputs in the same memory. Raises the error, if there is one."""
        if self.error is not None:
            raise self.error
        where = None
        if self.positions is not None:
            where = Provenance(self.positions, self.names, self.indices, progress=self.progress)
        made = tuple(column.batch(where) for column in self.columns)
        return made if self.receipt is None else WithReceipt.of(made, self.receipt)


def column_of(batch: Batch) -> Column:
    """What is sent for an output: without gaps, and in the memory of the batch if that has no
    gaps."""
    batch = batch.cpu()
    layout = batch.layout or ""
    if batch.batch_shape.uniform:
        return Column(batch.as_array(), None, layout)
    parts = [array.reshape(-1) for array in batch.arrays()]
    data = allocate(sum(part.size for part in parts), batch.data.dtype)
    np.concatenate(parts, out=data)
    return Column(data, np.ascontiguousarray(batch.batch_shape.shapes), layout)
