"""Tables: what a reader reads, as numbered samples. A format of files is a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, BoolVector
from gradiva.eager.types.device import CPU, Device
from gradiva.ops.storage.storage import Storage

Failures: TypeAlias = "dict[int, op.GradivaError]"
"""What went wrong, by the place of the sample among those that were asked for."""


class Records(NamedTuple):
    """What a table has read: a batch for each output, and what could not be read, which is empty
    there, or zeros or a default where the shape is fixed.

    names: of the samples in each output, where they differ from those of the table.
    """

    columns: tuple[op.Batch, ...]
    failures: Failures
    names: tuple[list[str], ...] | None = None


class BegunRead(Protocol):
    """Samples that threads of the table read, and nobody waits for yet."""

    def wait(self, pool: op.WorkerPool) -> Records:
        """What `Table.read` returns. Once."""

    def stop(self) -> None:
        """Nobody waits: read no more. May be called by any thread."""


class Table(ABC):
    """Numbered samples that never change. It knows no epochs, shards or error policy, and is read
    in one thread at a time.

    storage: what reads its files, if some of them are on other machines; `prefetch` then tells it
    what will be wanted. device: where large outputs are wanted; they may be made there. selecting:
    arguments of the reader that do not change what is in a sample with the same identity, since
    they decide which samples there are, or are part of `identities`. libraries: modules of other
    libraries that decode values.
    """

    storage: Storage | None = None
    device: Device = CPU
    selecting: frozenset[str] = frozenset()
    libraries: tuple[str, ...] = ()

    @abstractmethod
    def __len__(self) -> int:
        """How many samples there are."""

    @abstractmethod
    def names(self, indices: op.Int64Array) -> list[str]:
        """Where each of these samples comes from: a file, or a file and a place in it."""

    @abstractmethod
    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        """These samples. Raises OperatorRuntimeError for what is no sample's fault."""

    def begin(self, indices: op.Int64Array, pool: op.WorkerPool) -> BegunRead | None:
        """Begin to read these samples, in as many threads as the pool has; what comes later begins
        after it. None where it is not worth it, because `read` takes little time."""
        return None

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        """The outputs of these samples that are known without reading, by their number. Always the
        same outputs."""
        return {}

    def read_some(
        self, indices: op.Int64Array, needed: BoolVector, free: frozenset[int], pool: op.WorkerPool
    ) -> Records | None:
        """As `read`, but samples that are not needed may be empty in the outputs in `free`. None
        for a table whose outputs are not read one by one."""
        return None

    def prefetch_some(
        self, indices: op.Int64Array, needed: BoolVector, free: frozenset[int]
    ) -> bool:
        """As `prefetch`, for `read_some`. False where that returns None."""
        return False

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """For each of these samples a text that changes whenever the bytes of this output change,
        together with the arguments of the reader; the same in every process, and made without
        reading the sample. None where there is none.

        before: the time, in nanoseconds, at which the samples were not read yet: now, unless it is
        given.
        """
        return [None] * len(indices)

    def beside(self) -> Table:
        """A table of the same samples, which may be read while this one is read."""
        return copy(self)

    @abstractmethod
    def digest(self) -> dict[str, Any]:
        """What the data are, as short JSON data: a checkpoint goes with no other."""

    def labels(self) -> op.Int64Array | None:
        """The label of each sample, where it is known without reading."""
        return None

    def classes(self) -> list[str] | None:
        """The name of each label, where labels are numbers of names."""
        return None

    def sizes(self) -> op.Int64Array | None:
        """The number of bytes of each sample, where it is known without reading."""
        return None

    def durations(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """The seconds of each sample, where they are known without reading."""
        return None

    def prefetch(self, indices: op.Int64Array) -> None:
        """Ask the system to fetch these samples; where it cannot be asked, nothing is lost."""


def column(
    values: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: op.DType, layout: str = ""
) -> op.Batch:
    """A batch of samples of one shape, from one array of them."""
    flat = np.ascontiguousarray(values, dtype.numpy).reshape(-1)
    made = op.BatchShape.equal(len(values), shape)
    return op.Batch.over(flat, made, op.SampleType(dtype, len(shape), layout, "cpu"))


def ragged(arrays: list[np.ndarray[Any, Any]], dtype: op.DType, ndim: int) -> op.Batch:
    """A batch of these samples, all of `ndim` axes."""
    shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), ndim)
    made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(dtype, ndim, "", "cpu"))
    for target, array in zip(made.batch_shape.views(made.data), arrays, strict=True):
        target[...] = array
    return made


def uniform(arrays: list[Array | None], dtype: op.DType, ndim: int, what: str) -> op.Batch:
    """A batch of arrays of one type and number of axes, those of the first one, or these where
    there is none; None is an empty sample. Raises OperatorRuntimeError."""
    first = next(
        (array for array in arrays if array is not None), np.empty((0,) * ndim, dtype.numpy)
    )
    for sample, array in enumerate(arrays):
        if array is not None and (array.dtype, array.ndim) != (first.dtype, first.ndim):
            raise op.OperatorRuntimeError(
                f"{what}: samples of a batch have one type and one number of axes",
                expected=f"{first.ndim}-D {first.dtype}",
                got=f"{array.ndim}-D {array.dtype}",
                sample=sample,
            )
    empty = np.zeros((0,) * first.ndim, first.dtype)
    found = [empty if array is None else array for array in arrays]
    return ragged(found, op.DType.from_numpy(first.dtype), first.ndim)
