"""The bytes of files, read straight into a batch."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .table import Failures


def read_files(
    paths: list[str],
    where: op.Provenance | None,
    pool: op.WorkerPool,
    failures: Failures | None = None,
) -> op.Batch:
    """The bytes of each file, read straight into the batch. Raises OperatorRuntimeError.

    failures: takes what went wrong, by sample, instead; such a sample is left without bytes.
    """
    handles = [-1] * len(paths)
    sizes = np.zeros((len(paths), 1), np.int64)

    def open_files(begin: int, end: int) -> None:
        for index in range(begin, end):
            with _failing(index, paths[index], failures):
                handles[index] = os.open(paths[index], os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                sizes[index] = os.fstat(handles[index]).st_size

    def read(begin: int, end: int) -> None:
        for index in range(begin, end):
            if handles[index] >= 0:
                with _failing(index, paths[index], failures):
                    _fill(handles[index], batch.array(index))

    step = 8
    ranges = [(first, min(first + step, len(paths))) for first in range(0, len(paths), step)]
    try:
        pool.run(open_files, ranges)
        batch = op.Batch.empty(
            op.BatchShape.of(sizes), op.SampleType(op.uint8, 1, "", "cpu"), where
        )
        pool.run(read, ranges)
    finally:
        for handle in handles:
            if handle >= 0:
                os.close(handle)
    return without_bytes(batch, list(failures)) if failures else batch


def without_bytes(batch: op.Batch, samples: list[int]) -> op.Batch:
    """The batch, in which these samples are empty."""
    laid = batch.batch_shape
    shapes = laid.shapes.copy()
    shapes[samples] = 0
    uniform = bool((shapes == shapes[0]).all())
    batch_shape = op.BatchShape(shapes, laid.offsets, laid.size, uniform, False, False)
    return op.Batch.over(batch.data, batch_shape, batch.type, batch.provenance)


class _failing:  # noqa: N801  used like a function; a generator and what it swallows are a cycle
    """Turns a failure of the system into an error that names the sample and the file."""

    def __init__(self, sample: int, path: str, failures: Failures | None) -> None:
        self._sample, self._path, self._failures = sample, path, failures

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        facts: dict[str, Any] = {"sample": self._sample, "file": self._path}
        reason = f"the file cannot be read: {error.strerror or error}"
        if not_of_the_file(error):
            raise op.OperatorRuntimeError(reason, **facts) from error
        if self._failures is None:
            raise op.SampleDataError(reason, **facts) from error
        failed = op.SampleDataError(reason, **facts)
        failed.__cause__ = op.without_frames(error)
        self._failures[self._sample] = failed
        return True


def not_of_the_file(error: OSError) -> bool:
    """What the process or the machine has run out of is no fault of a file."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def _fill(handle: int, target: np.ndarray[Any, Any]) -> None:
    view = memoryview(target.data)
    done = 0
    while done < len(view):
        count = os.readv(handle, [view[done:]])
        if count == 0:
            raise OSError(f"it shrank to {done} bytes while it was being read")
        done += count


def prefetch_files(paths: list[str]) -> None:
    """Ask the system to fetch files, where it can be asked."""
    for path in paths if hasattr(os, "posix_fadvise") else ():
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # the read that follows will say so
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(handle)
