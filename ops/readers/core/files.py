"""The bytes of files, read straight into a batch."""

from __future__ import annotations

import errno
import functools
import os
import time
from typing import Any

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.runtime.host_memory import physical_memory
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    SampleDataError,
    without_frames,
)
from gradiva.eager.support.local_files import FLAGS, check_regular_file, opened
from gradiva.eager.support.positional import read_next
from gradiva.eager.types.arrays import I64Table, I64Vector, Int64Array, U8Vector
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import uint8
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

_MOST = 1 << 40
"""Larger is no file but a folder, for one whose end is asked for."""
_background = BackgroundKernel()


class RateTracker:
    """How long a file takes: a thread is given work for a millisecond, and all files where that is
    enough for them."""

    _WORTH = 1e-3

    def __init__(self) -> None:
        self._open = self._read = self._WORTH / 8

    def ranges(self, count: int, reading: bool) -> list[tuple[int, int]]:
        """Ranges of that many files, for opening or for reading them."""
        step = max(1, int(self._WORTH / (self._read if reading else self._open)))
        step = max(count, 1) if 2 * step > count else step
        return [(first, min(first + step, count)) for first in range(0, count, step)]

    def note(self, began: float, count: int, reading: bool) -> None:
        """That many files were opened, or read, since then."""
        before = self._read if reading else self._open
        # One that took long for once, because the machine did something else, does not count much.
        passed = min((time.perf_counter() - began) / max(count, 1), 4 * before)
        after = max((3 * before + passed) / 4, 1e-7)
        if reading:
            self._read = after
        else:
            self._open = after


def read_files(
    paths: list[str],
    where: Provenance | None,
    pool: WorkerPool,
    failures: dict[int, GradivaError] | None = None,
    rates: RateTracker | None = None,
) -> Batch:
    """The bytes of each file, read straight into the batch. Raises OperatorRuntimeError.

    failures: takes what went wrong, by sample, instead; such a sample is left without bytes. pace:
    of earlier files of the same place.
    """
    rates = RateTracker() if rates is None else rates
    handles = np.full(len(paths), -1, np.int64)
    sizes = np.zeros((len(paths), 1), np.int64)
    compiled = _calls() if _background.is_worth_compiling(len(paths), _prepare) else None
    names = None if compiled is None else _names(paths)

    def open_files(begin: int, end: int) -> None:
        began = time.perf_counter()
        if compiled is not None and names is not None:
            _open(compiled, *names, handles, sizes, begin, end)
        for index in (begin + np.flatnonzero(handles[begin:end] < 0)).tolist():
            with _failing(index, paths[index], failures):
                handles[index] = handle = opened(paths[index])
                facts = os.fstat(handle)
                check_regular_file(facts)
                sizes[index] = facts.st_size
        rates.note(began, end - begin, reading=False)

    def read(begin: int, end: int) -> None:
        began = time.perf_counter()
        if compiled is not None and names is not None:
            _read(compiled, batch.data, batch.batch_shape.offsets, handles, sizes, begin, end)
        for index in (begin + np.flatnonzero(handles[begin:end] >= 0)).tolist():
            with _failing(index, paths[index], failures):
                _fill(int(handles[index]), batch.array(index))
        rates.note(began, end - begin, reading=True)

    try:
        pool.run(open_files, rates.ranges(len(paths), reading=False))
        batch = _allocated(sizes, paths, where, handles, failures)
        pool.run(read, rates.ranges(len(paths), reading=True))
    finally:
        for handle in handles[handles >= 0].tolist():
            os.close(handle)
    return without_bytes(batch, list(failures)) if failures else batch


def _allocated(
    sizes: Int64Array,
    paths: list[str],
    where: Provenance | None,
    handles: Int64Array,
    failures: dict[int, GradivaError] | None,
) -> Batch:
    """Memory for files of these sizes. A file that is larger than all memory fails, the largest
    first: the others of the batch are read all the same. A want of memory for other files is no
    fault of theirs."""
    while True:
        try:
            return Batch.empty(BatchShape.of(sizes), SampleType(uint8, 1, "", "cpu"), where)
        except (MemoryError, OperatorValueError):
            largest = int(sizes[:, 0].argmax())
            size = int(sizes[largest, 0])
            if not size:
                raise
        facts: dict[str, Any] = {"sample": largest, "file": paths[largest]}
        lack = f"there is not enough memory for the {size} bytes"
        if size <= (physical_memory() or 0):
            raise OperatorRuntimeError(lack, **facts)
        failed = SampleDataError(lack, **facts)
        if failures is None:
            raise failed
        failures[largest] = failed
        os.close(int(handles[largest]))
        sizes[largest], handles[largest] = 0, -1


@functools.cache
def _calls() -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Functions for the kernels, where the system has them."""
    return addresses("open", "lseek", "pread", "close")


def _names(paths: list[str]) -> tuple[Any, Any] | None:
    """The paths as the C library takes them, and where each begins; None where one cannot be."""
    try:
        joined = np.frombuffer(os.fsencode("\0".join(paths)) + b"\0", np.uint8)
    except UnicodeEncodeError:
        return None
    ends = np.flatnonzero(joined == 0) + 1
    if len(ends) != len(paths):  # a path with a zero byte
        return None
    starts = np.zeros(len(paths), np.int64)
    starts[1:] = ends[:-1]
    return joined, starts


@jit
def _open(
    calls: I64Vector,
    names: U8Vector,
    starts: I64Vector,
    handles: I64Vector,
    sizes: I64Table,
    begin: int,
    end: int,
) -> None:
    """Open files and ask for their sizes. One where that fails stays closed."""
    for index in range(begin, end):
        path = names.ctypes.data + starts[index]
        handle: Any = np.int64(np.int32(call_c(calls[0], path, FLAGS, 0, 0)))
        if handle < 0:
            continue
        size = call_c(calls[1], handle, 0, 2, 0)
        if 0 < size < _MOST:  # of none, it is asked what it is
            handles[index], sizes[index, 0] = handle, size
        else:
            call_c(calls[3], handle, 0, 0, 0)


@jit
def _read(
    calls: I64Vector,
    data: U8Vector,
    offsets: I64Vector,
    handles: I64Vector,
    sizes: I64Table,
    begin: int,
    end: int,
) -> None:
    """Read open files and close them. One where that fails stays open, at its start."""
    for index in range(begin, end):
        handle, size, done = handles[index], sizes[index, 0], 0
        if handle < 0:
            continue
        target = data.ctypes.data + offsets[index]
        while done < size:
            count = call_c(calls[2], handle, target + done, size - done, done)
            if count <= 0:
                break
            done += count
        if done == size:
            handles[index] = -1
            call_c(calls[3], handle, 0, 0, 0)
        else:
            call_c(calls[1], handle, 0, 0, 0)


def _prepare() -> None:
    """Call the kernels for no file."""
    calls, nothing = _calls(), np.zeros(0, np.int64)
    if calls is not None:
        files = nothing, nothing[:, np.newaxis], 0, 0
        _open(calls, np.frombuffer(bytes(1), np.uint8), nothing, *files)
        _read(calls, np.zeros(0, np.uint8), nothing, *files)


def without_bytes(batch: Batch, samples: list[int]) -> Batch:
    """The batch, in which these samples are empty."""
    laid = batch.batch_shape
    shapes = laid.shapes.copy()
    shapes[samples] = 0
    uniform = bool((shapes == shapes[0]).all())
    batch_shape = BatchShape(shapes, laid.offsets, laid.size, uniform, False, False)
    return Batch.over(batch.data, batch_shape, batch.type, batch.provenance)


class _failing:  # noqa: N801  used like a function; a generator and what it swallows are a cycle
    """Turns a failure of the system into an error that names the sample and the file."""

    def __init__(self, sample: int, path: str, failures: dict[int, GradivaError] | None) -> None:
        self._sample, self._path, self._failures = sample, path, failures

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError):
            return False
        failed = unreadable(error, self._path, self._sample)
        failed.complete(sample=self._sample, file=self._path)
        if self._failures is None:
            raise failed from error
        failed.__cause__ = without_frames(error)
        self._failures[self._sample] = failed
        return True


def unreadable(error: OSError, path: str, sample: int | None = None) -> SampleDataError:
    """The error of a sample whose file cannot be read. Raises OperatorRuntimeError where the
    process or the machine has run out of something, which is no fault of the file."""
    reason = f"the file cannot be read: {error.strerror or error}"
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        raise OperatorRuntimeError(reason, sample=sample, file=path) from error
    if error.errno == errno.EISDIR:
        reason += "; `readers.file(file_root=...)` reads the files of a folder"
    elif error.errno == errno.ENOENT and any(sign in path for sign in "*?"):
        reason += "; a pattern names no file: give the names that `glob.glob` finds"
    return SampleDataError(reason)


def _fill(handle: int, target: np.ndarray[Any, Any]) -> None:
    view = memoryview(target.data)
    done = 0
    while done < len(view):
        count = read_next(handle, view[done:])
        if count == 0:
            raise OSError(f"it shrank to {done} bytes while it was being read")
        done += count


def prefetch_files(paths: list[str]) -> None:
    """Ask the system to fetch files, where it can be asked."""
    for path in paths if hasattr(os, "posix_fadvise") else ():
        try:
            handle = opened(path)
        except OSError:
            continue  # the read that follows will say so
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(handle)
