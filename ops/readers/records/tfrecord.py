"""`readers.tfrecord`: features of the examples in TFRecord files."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import (
    Containers,
    Places,
    RecordTable,
    check_not_empty,
    shares,
)
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.scan_cache import kept_scan
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.readers.reader_arguments import ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.folders import expect_files
from gradiva.ops.storage.storage import Storage

from . import tfrecord_example as example
from .tfrecord_features import Feature, Features, features_of
from .tfrecord_records import AROUND, HEAD, checksums, indexed_records, scan_records
from .tfrecord_values import Values, wanted_of

__all__ = ["TFRecord", "index_lines", "tfrecord"]


@source_operator("readers.tfrecord", formerly=("tfrecord_reader",))
@op.uses_arguments(ReaderArguments)
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
            `gradiva tfrecord2idx` writes them. Without them, the files are scanned, which
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

    Example:
        features = {
            "image": gradiva.tfrecord.FixedLenFeature((), gradiva.tfrecord.string, ""),
            "label": gradiva.tfrecord.FixedLenFeature([1], gradiva.tfrecord.int64, -1),
        }
        reader = gradiva.readers.TFRecord(path="data.tfrecord", features=features)
        for row in reader.next_epoch(batch_size=4):
            images, labels = gradiva.decoders.image(row["image"]), row["label"]
    """
    return tuple(feature.type for feature in features_of(features).values())


tfrecord.output_names = lambda given: tuple(features_of(given["features"]))


class ExampleTable(RecordTable):
    """The records of TFRecord files, as values of features."""

    def __init__(
        self, containers: Containers, places: Places, features: dict[str, Feature], check_crc: bool
    ) -> None:
        super().__init__(containers, places)
        self._features = features
        self._check_crc = check_crc
        names = [name.encode() for name in features]
        self._names = np.frombuffer(b"".join(names) or b"\0", np.uint8)
        self._ends = np.array([*itertools.accumulate(map(len, names))], np.int64)
        self._wanted = wanted_of(features.values())

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        raw = self.bytes_of(indices, pool, failures)
        offsets, sizes = raw.batch_shape.offsets, raw.batch_shape.volumes
        rows = np.zeros((len(indices), len(self._features), example.COLUMNS), np.int64)
        broken = np.zeros(len(indices), np.int64)

        def parse(first: int, last: int) -> None:
            part = slice(first, last)
            where = offsets[part], sizes[part], HEAD, AROUND - HEAD
            asked = self._names, self._ends, self._wanted
            example.parse(raw.data, *where, *asked, rows[part], broken[part])

        pool.run(parse, shares(raw.batch_shape, pool))
        if broken.any():
            self._note_broken(raw, broken, failures)
        if self._check_crc:
            self._compare(raw, broken >= 0, rows, failures)
        columns = []
        doubtful = bool((rows[:, :, example.VERDICT] >= example.MISSING).any())
        for number, (name, feature) in enumerate(self._features.items()):
            values = Values(raw.data, rows[:, number])
            if doubtful:
                values.note(name, feature, failures)
            columns.append(values.column(feature, pool))
        return Records(tuple(columns), failures)

    def _note_broken(self, raw: op.Batch, broken: op.Int64Array, failures: Failures) -> None:
        """Say of each record what is wrong with it."""
        offsets, sizes = raw.batch_shape.offsets, raw.batch_shape.volumes
        for sample in np.flatnonzero(broken).tolist():
            at, size = int(offsets[sample]), int(sizes[sample])
            if broken[sample] < 0:
                said = int.from_bytes(raw.data[at : at + 8].tobytes(), "little")
                error = op.SampleDataError(
                    "a damaged record: its length",
                    expected=f"{size - AROUND}, as the index says",
                    got=str(said),
                )
            else:
                place = int(broken[sample]) - 1 - at - HEAD
                error = op.SampleDataError(f"a damaged record: its message, at byte {place}")
            failures.setdefault(sample, error)

    def _compare(self, raw: op.Batch, there: Any, rows: op.Int64Array, failures: Failures) -> None:
        """Compare the checksums of the records; what is damaged has no values."""
        known = np.flatnonzero(there & (raw.batch_shape.volumes > 0))
        begins = raw.batch_shape.offsets[known] + HEAD
        ends = begins + raw.batch_shape.volumes[known] - AROUND
        heads = checksums(raw.data, begins - HEAD, begins - (HEAD - 8))
        bodies = checksums(raw.data, begins, ends)
        stored = _words(raw.data, begins - 4), _words(raw.data, ends)
        for sample in known[(stored[0] != heads) | (stored[1] != bodies)].tolist():
            failures[sample] = op.SampleDataError("a damaged record: its checksum")
            rows[sample] = 0


def _words(data: np.ndarray[Any, Any], places: op.Int64Array) -> Any:
    """The uint32 that stand there."""
    return np.ascontiguousarray(data[places[:, None] + np.arange(4)]).view("<u4").reshape(-1)


@opens_table(tfrecord, container=True)
def _open(given: dict[str, Any]) -> ExampleTable:
    if given["skip_cached_images"]:
        raise op.wrong_value("skip_cached_images", "False in this reader", "True")
    storage = storage_of(given)
    indices = given["index_path"] or None
    expect_files(indices or (), storage)  # on their way while the containers are looked at
    containers = Containers(given["path"], "path", storage)
    if indices is not None and len(indices) != len(containers.paths):
        raise op.wrong_value(
            "index_path", f"as many files as in `path`, {len(containers.paths)}", len(indices)
        )
    parts = [
        scanned(path, storage)
        if indices is None
        else indexed_records(indices[number], path, facts.size, storage)
        for number, (path, facts) in enumerate(zip(containers.paths, containers.facts, strict=True))
    ]
    places = Places.join(parts)
    check_not_empty(len(places.files), containers, "path")
    return ExampleTable(containers, places, features_of(given["features"]), given["check_crc"])


def scanned(path: str, storage: Storage | None = None) -> op.Int64Array:
    """Offset and size of each record of a file. Raises OperatorValueError, SampleDataError."""
    return kept_scan("tfrecord 1", path, 2, scan_records, storage)[0]


def index_lines(path: str) -> list[str]:
    """The lines of an index of a file."""
    return [f"{offset} {size}" for offset, size in scanned(path).tolist()]


TFRecord = reader_class("TFRecord", tfrecord)
