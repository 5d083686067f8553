"""Container files: many records in one file, read by their places in it.

Files are opened for each batch and read, never mapped: a handle does not survive a fork, a mapped
file that shrinks kills the process, and a data set may have more files than a process has handles.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.local_files import open_regular
from gradiva.eager.types.arrays import Array
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.folders import read_names
from gradiva.ops.storage.handles import Handle, close_handle, open_handle, read_fully
from gradiva.ops.storage.ranges import Content, Want, fill
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import any_url, is_url, local_path

from .files import unreadable, without_bytes
from .identities import file_identities
from .record_reads import read_records
from .table import Failures, Table

BLANKS = " \t\n\r\v\f"
"""What separates words in text files. Other blanks may stand in names."""
_LITTLE = 1 << 20
"""Bytes of a batch that one thread reads."""


class FileFacts(NamedTuple):
    """What shows that a file is another one than it was: a time, or what another machine tells."""

    size: int
    changed: int | str

    @staticmethod
    def of(handle: Handle) -> FileFacts:
        if not isinstance(handle, int):
            return FileFacts(handle.facts.size, handle.facts.version)
        facts = os.fstat(handle)
        return FileFacts(facts.st_size, facts.st_mtime_ns)


class Places(NamedTuple):
    """Where records lie: the number of the file, first byte and number of bytes of each."""

    files: op.Int64Array
    offsets: op.Int64Array
    sizes: op.Int64Array

    @staticmethod
    def join(parts: Sequence[np.ndarray[Any, Any]]) -> Places:
        """From an array (records, 2 or more) for each file, of offsets and sizes."""
        numbers = [np.full(len(part), number, np.int64) for number, part in enumerate(parts)]
        return Places(
            np.concatenate(numbers),
            np.concatenate([part[:, 0] for part in parts]),
            np.concatenate([part[:, 1] for part in parts]),
        )


class Containers:
    """The files of a data set, as they were when the table was made. Raises OperatorValueError."""

    def __init__(self, paths: Sequence[str], argument: str, storage: Storage | None = None) -> None:
        if not paths:
            raise op.wrong_value(argument, "at least one file", "none")
        self.paths = [local_path(path) for path in paths]
        self.storage = storage if any_url(self.paths) else None
        """What reads the URLs among the paths, if there are any."""
        self._remote = np.array([is_url(path) for path in self.paths])
        self.facts: list[FileFacts] = []
        if self.storage is not None:  # of all at once
            self.storage.facts([path for path in self.paths if is_url(path)])
        self._as_opened = file_identities(self.paths, self.storage, time.time_ns())
        for path in self.paths:
            try:
                handle = open_handle(path, self.storage)
                try:
                    self.facts.append(FileFacts.of(handle))
                finally:
                    close_handle(handle)
            except OSError as error:
                raise op.wrong_value(argument, "a file that can be read", error) from error

    def identities_of_files(
        self, numbers: Sequence[int], before: int | None = None
    ) -> dict[int, str | None]:
        """What identifies the bytes of these files; None for a file that may be another one than
        when the table was made, since what is known of its records is from then."""
        now = file_identities([self.paths[number] for number in numbers], self.storage, before)
        return {
            number: one if one == self._as_opened[number] else None
            for number, one in zip(numbers, now, strict=True)
        }

    def identities(self, places: Places, before: int | None = None) -> list[str | None]:
        """What identifies the bytes of these records. before: as of `Table.identities`."""
        files = self.identities_of_files(np.unique(places.files).tolist(), before)
        rows = zip(*(part.tolist() for part in places), strict=True)
        return [
            None if files[file] is None else f"{files[file]}\0{offset} {size}"
            for file, offset, size in rows
        ]

    def read(
        self, places: Places, pool: op.WorkerPool, failures: Failures, dtype: op.DType = op.uint8
    ) -> op.Batch:
        """These records as values of a type, 1-D; what failed, now or before, is empty. Records of
        one file are read in its order."""
        shape = op.BatchShape.of(places.sizes.reshape(-1, 1) // dtype.itemsize)
        made = op.Batch.empty(shape, op.SampleType(dtype, 1, "", "cpu"))
        starts = made.batch_shape.offsets * dtype.itemsize
        whole_bytes = made.data.view(np.uint8)
        order = np.lexsort((places.offsets, places.files))
        if self.storage is not None:
            far = self._remote[places.files[order]]
            targets = made.batch_shape.views(made.data)
            self._read_remote(self.storage, places, order[far].tolist(), targets, pool, failures)
            order = order[~far]
        files = places.files[order]
        # Little is read faster than threads are woken.
        parts = 4 * pool.num_threads if places.sizes.sum() > _LITTLE else 1
        step = max(8, -(-len(order) // parts))
        cuts = np.flatnonzero(np.diff(files)) + 1
        bounds = [0, *cuts.tolist(), len(order)]
        ranges = [
            (begin, min(begin + step, last))
            for first, last in itertools.pairwise(bounds)
            for begin in range(first, last, step)
        ]

        def read(begin: int, end: int) -> None:
            part = order[begin:end]
            number = int(files[begin])
            try:
                handle = open_regular(self.paths[number])
            except OSError as error:
                self._fail(part.tolist(), number, error, failures)
                return
            try:
                if FileFacts.of(handle) != self.facts[number]:
                    changed = OSError("it has changed since the reader was made")
                    self._fail(part.tolist(), number, changed, failures)
                    return
                where = starts[part], places.offsets[part], places.sizes[part]
                whole = read_records(handle, whole_bytes, *where)
                for sample in part[~whole].tolist():
                    try:
                        start, size = int(starts[sample]), int(places.sizes[sample])
                        target = whole_bytes[start : start + size]
                        read_fully(handle, int(places.offsets[sample]), target)
                    except OSError as error:
                        self._fail([sample], number, error, failures)
            finally:
                os.close(handle)

        pool.run(read, ranges)
        return without_bytes(made, list(failures)) if failures else made

    def _read_remote(
        self,
        storage: Storage,
        places: Places,
        samples: list[int],
        targets: Sequence[np.ndarray[Any, Any]],
        pool: op.WorkerPool,
        failures: Failures,
    ) -> None:
        """Records that are on other machines."""
        contents: list[tuple[int, Content]] = []
        wants = self._wants(places, samples)
        for sample, found in zip(samples, storage.take(wants), strict=True):
            if isinstance(found, StorageError):
                self._fail([sample], int(places.files[sample]), found, failures)
            else:
                contents.append((sample, found))

        def copy(begin: int, end: int) -> None:
            for sample, content in contents[begin:end]:
                fill(targets[sample].view(np.uint8), content)

        step = max(8, -(-len(contents) // (4 * pool.num_threads)))
        pool.run(copy, [(i, min(i + step, len(contents))) for i in range(0, len(contents), step)])

    def _wants(self, places: Places, samples: Sequence[int]) -> list[Want]:
        paths = self.paths
        begins = places.offsets[samples]
        rows = places.files[samples], begins, begins + places.sizes[samples]
        found = zip(*(row.tolist() for row in rows), strict=True)
        return [Want(paths[file], begin, end) for file, begin, end in found]

    def places(self, places: Places) -> list[str]:
        """The names of these records."""
        return [
            f"{self.paths[file]} at index {offset}"
            for file, offset in zip(places.files.tolist(), places.offsets.tolist(), strict=True)
        ]

    def _fail(self, samples: list[int], number: int, error: OSError, failures: Failures) -> None:
        for sample in samples:
            failures[sample] = unreadable(error, self.paths[number])

    def prefetch(self, places: Places) -> None:
        """Ask the system to fetch these records, where it can be asked."""
        far = self._remote[places.files]
        if self.storage is not None:
            self.storage.expect(self._wants(places, np.flatnonzero(far).tolist()))
        if far.all() or not hasattr(os, "posix_fadvise"):
            return
        for number in np.unique(places.files[~far]).tolist():
            try:
                handle = open_regular(self.paths[number])
            except OSError:
                continue  # the read that follows will say so
            try:
                for sample in np.flatnonzero(places.files == number).tolist():
                    place = int(places.offsets[sample]), int(places.sizes[sample])
                    os.posix_fadvise(handle, *place, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(handle)

    def digest(self, *arrays: np.ndarray[Any, Any]) -> str:
        """A digest of the names below the folder that all files share, and of these arrays."""
        shared = os.path.commonprefix([min(self.paths), max(self.paths)])  # noqa: RUF071  cut below
        start = shared.rfind(os.sep) + 1
        digest = blake2b(digest_size=16)
        for path in self.paths:
            digest.update(f"{path[start:]}\0".encode("utf-8", "surrogateescape"))
        for array in arrays:
            digest.update(f"{array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


class RecordTable(Table):
    """The records of containers. kind: what its digest calls them."""

    kind = "records"

    def __init__(self, containers: Containers, places: Places) -> None:
        self._containers, self._places = containers, places
        self.storage = containers.storage

    def __len__(self) -> int:
        return len(self._places.files)

    def _chosen(self, indices: op.Int64Array) -> Places:
        return Places(*(part[indices] for part in self._places))

    def names(self, indices: op.Int64Array) -> list[str]:
        return self._containers.places(self._chosen(indices))

    def bytes_of(self, indices: op.Int64Array, pool: op.WorkerPool, failures: Failures) -> op.Batch:
        """These records as they are stored, 1-D; what failed is empty."""
        return self._containers.read(self._chosen(indices), pool, failures)

    def parsed(
        self,
        indices: op.Int64Array,
        pool: op.WorkerPool,
        parse: Callable[[Array, int], Sequence[Array]],
        outputs: int,
    ) -> tuple[list[list[Array | None]], Failures]:
        """What `parse` makes of each record and the number of its file, by output: None where the
        record cannot be read, or `parse` raises SampleDataError."""
        failures: Failures = {}
        raw = self.bytes_of(indices, pool, failures)
        files = self._places.files[indices].tolist()
        columns: list[list[Array | None]] = [[None] * len(files) for _ in range(outputs)]
        for sample, record in enumerate(raw.batch_shape.views(raw.data)):
            if sample in failures:
                continue
            try:
                for column, value in zip(columns, parse(record, files[sample]), strict=True):
                    column[sample] = value
            except op.SampleDataError as error:
                failures[sample] = error
        return columns, failures

    def sizes(self) -> op.Int64Array:
        return self._places.sizes

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        return self._containers.identities(self._chosen(indices), before)

    def digest(self) -> dict[str, Any]:
        return {self.kind: len(self), "names": self._containers.digest(*self._places)}

    def prefetch(self, indices: op.Int64Array) -> None:
        self._containers.prefetch(self._chosen(indices))


def text_lines(path: str, argument: str, storage: Storage | None = None) -> list[str]:
    """The lines of a text file, such as an index. Raises OperatorValueError."""
    try:
        return read_names(path, storage or Storage())
    except OSError as error:
        raise op.OperatorValueError(
            argument=argument, expected="a text file that can be read", got=str(error), file=path
        ) from error


def shares(shape: op.BatchShape, pool: op.WorkerPool) -> list[tuple[int, int]]:
    """Ranges of samples for threads; one range, if there is little to do."""
    if not len(shape):
        return []
    return shape.shares(pool.num_threads) if shape.size > _LITTLE else [(0, len(shape))]


_COMPRESSED = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"(\xb5/\xfd": "zstandard",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
    b"\x78\x01": "zlib",
    b"\x78\x5e": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
"""What compressed files begin with."""


def compression_of(head: bytes) -> str | None:
    """By what a file is compressed that cannot be read and begins so; None where it is not."""
    return next((name for begin, name in _COMPRESSED.items() if head.startswith(begin)), None)


def check_not_empty(count: int, containers: Containers, argument: str) -> None:
    """Raise OperatorValueError for files without a sample."""
    if not count:
        raise op.OperatorValueError(
            argument=argument,
            expected="files with samples",
            got="none in them",
            file=", ".join(containers.paths[:3]),
        )
