"""`readers.tfrecord`: features of the examples in TFRecord files."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.readers.reader import reader_class
from gradiva.eager.readers.source import source_operator
from gradiva.eager.storage.storage import Storage
from gradiva.ops.readers.containers import Containers, Places, refuse_empty, shares
from gradiva.ops.readers.reader_arguments import ReaderArguments, ReaderOptions
from gradiva.ops.readers.remote import storage_of
from gradiva.ops.readers.scan_cache import kept_scan
from gradiva.ops.readers.table import Failures, Records, Table
from gradiva.ops.readers.table_source import opens_table

from . import example
from .features import Feature, Features, features_of
from .records import AROUND, HEAD, checksums, indexed_records, scan_records
from .values import Values

__all__ = ["TFRecord", "index_lines", "tfrecord"]


@source_operator("readers.tfrecord", formerly=("tfrecord_reader",))
@op.takes(ReaderArguments)
def tfrecord(
    *,
    path: op.Paths,
    features: Features,
    index_path: op.Paths | None = None,
    check_crc: bool = False,
    use_o_direct: bool = False,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read features of the `tf.train.Example` messages in TFRecord files.

    Args:
        path: the files, one or several.
        features: what is read, by name: `tfrecord.FixedLenFeature(shape, dtype, default)` for
            values of one shape, and for strings, which are the bytes of the first value;
            `tfrecord.VarLenFeature(dtype, default)` for any number of values, and
            `tfrecord.VarLenFeature(shape, dtype, default)` for any number of items of this shape.
            Where a record has fewer values than a fixed shape, the default fills what is missing.
        index_path: text files with lines `offset size`, one for each file, as
            `python -m gradiva tfrecord2idx` writes them. Without them, the files are scanned, which
            is done once for each large file.
        check_crc: compare the checksums of each record.
        use_o_direct: accepted: files are always read by the system's cache.

    Returns:
        The outputs in a dictionary by name: uint8, 1-D, for strings; int64 and float32 in the shape
        of the feature, (n,) or (n, *shape of an item) where the length differs.

    Raises:
        OperatorValueError: for a missing file, and features that cannot be.
        OperatorRuntimeError: with the file and the place in it, for a damaged record, an index that
            does not belong to the file, a value of another type or shape, and a missing one without
            a default.
    """
    return tuple(feature.type for feature in features_of(features).values())


tfrecord.output_names = lambda given: tuple(features_of(given["features"]))


class ExampleTable(Table):
    """The records of TFRecord files, as values of features."""

    def __init__(
        self, containers: Containers, places: Places, features: dict[str, Feature], check_crc: bool
    ) -> None:
        self._containers = containers
        self.storage = containers.storage
        self._places = places
        self._features = features
        self._check_crc = check_crc
        names = [name.encode() for name in features]
        self._names = np.frombuffer(b"".join(names) or b"\0", np.uint8)
        self._ends = np.array([*itertools.accumulate(map(len, names))], np.int64)

    def __len__(self) -> int:
        return len(self._places.files)

    def _chosen(self, indices: op.Int64Array) -> Places:
        return Places(*(part[indices] for part in self._places))

    def names(self, indices: op.Int64Array) -> list[str]:
        return self._containers.places(self._chosen(indices))

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        raw = self._containers.read(self._chosen(indices), pool, failures)
        begins, ends = self._messages(raw, failures)
        shape = len(indices), len(self._features)
        found = np.zeros((*shape, 2), np.int64)
        kinds, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        firsts = np.zeros((*shape, 2), np.int64)
        broken = np.zeros(len(indices), np.int64)

        def parse(first: int, last: int) -> None:
            part = slice(first, last)
            where = begins[part], ends[part], self._names, self._ends
            example.find(raw.data, *where, found[part], broken[part])
            example.count(
                raw.data, found[part], kinds[part], counts[part], firsts[part], broken[part]
            )

        pool.run(parse, shares(raw.batch_shape, pool))
        counts[broken > 0] = 0
        for sample in np.flatnonzero(broken).tolist():
            place = int(broken[sample] - 1 - begins[sample])
            failures.setdefault(
                sample, op.SampleDataError(f"a damaged record: its message, at byte {place}")
            )
        columns = []
        for number, (name, feature) in enumerate(self._features.items()):
            values = Values(
                raw.data, found[:, number], kinds[:, number], counts[:, number], firsts[:, number]
            )
            columns.append(values.column(name, feature, pool, failures))
        return Records(tuple(columns), failures)

    def _messages(self, raw: op.Batch, failures: Failures) -> tuple[op.Int64Array, op.Int64Array]:
        """Where the messages lie; empty where the record is damaged."""
        begins = raw.batch_shape.offsets + HEAD
        ends = raw.batch_shape.offsets + raw.batch_shape.volumes - (AROUND - HEAD)
        good = np.ones(len(begins), bool)
        good[list(failures)] = False
        said = np.zeros(len(begins), np.uint64)
        said[good] = _words(raw.data, raw.batch_shape.offsets[good], "<u8")
        sizes = raw.batch_shape.volumes - AROUND
        for sample in np.flatnonzero(good & (said != sizes.astype(np.uint64))).tolist():
            good[sample] = False
            failures[sample] = op.SampleDataError(
                "a damaged record: its length",
                expected=f"{sizes[sample]}, as the index says",
                got=str(said[sample]),
            )
        if self._check_crc:
            heads = checksums(raw.data, begins - HEAD, begins - (HEAD - 8))
            bodies = checksums(raw.data, begins, ends)
            known = np.flatnonzero(good)
            stored = (
                _words(raw.data, begins[known] - 4, "<u4"),
                _words(raw.data, ends[known], "<u4"),
            )
            same = (stored[0] == heads[known]) & (stored[1] == bodies[known])
            for sample in known[~same].tolist():
                failures[sample] = op.SampleDataError("a damaged record: its checksum")
                good[sample] = False
        return np.where(good, begins, 0), np.where(good, ends, 0)

    def sizes(self) -> op.Int64Array:
        return self._places.sizes

    def digest(self) -> dict[str, Any]:
        return {"records": len(self), "names": self._containers.digest(*self._places)}

    def prefetch(self, indices: op.Int64Array) -> None:
        self._containers.prefetch(self._chosen(indices))


def _words(data: np.ndarray[Any, Any], places: op.Int64Array, kind: str) -> Any:
    """The numbers of this kind that stand there."""
    words = data[places[:, None] + np.arange(np.dtype(kind).itemsize)]
    return np.ascontiguousarray(words).view(kind).reshape(-1)


@opens_table(tfrecord, container=True)
def _open(given: dict[str, Any]) -> ExampleTable:
    if given["skip_cached_images"]:
        raise op.OperatorValueError(
            argument="skip_cached_images", expected="False in this reader", got="True"
        )
    storage = storage_of(given)
    containers = Containers(given["path"], "path", storage)
    indices = given["index_path"] or None
    if indices is not None and len(indices) != len(containers.paths):
        raise op.OperatorValueError(
            argument="index_path",
            expected=f"as many files as in `path`, {len(containers.paths)}",
            got=str(len(indices)),
        )
    parts = [
        scanned(path, storage)
        if indices is None
        else indexed_records(indices[number], path, facts.size, storage)
        for number, (path, facts) in enumerate(zip(containers.paths, containers.facts, strict=True))
    ]
    places = Places.join(parts)
    refuse_empty(len(places.files), containers, "path")
    return ExampleTable(containers, places, features_of(given["features"]), given["check_crc"])


def scanned(path: str, storage: Storage | None = None) -> op.Int64Array:
    """Offset and size of each record of a file. Raises OperatorValueError, SampleDataError."""
    return kept_scan("tfrecord 1", path, 2, scan_records, storage)[0]


def index_lines(path: str) -> list[str]:
    """The lines of an index of a file."""
    return [f"{offset} {size}" for offset, size in scanned(path).tolist()]


TFRecord = reader_class("TFRecord", tfrecord)
