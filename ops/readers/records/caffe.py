"""`readers.caffe`: images and labels from LMDB files of Caffe.

A record is a message Datum: 1 channels, 2 height, 3 width, 4 data, 5 label, 7 encoded
(`caffe.proto`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Records, uniform
from gradiva.ops.readers.reader_arguments import (
    SHUFFLED_AFTER,
    ReaderArguments,
    ReaderOptions,
    storage_of,
)
from gradiva.ops.readers.table_source import opens_table

from .caffe_messages import damaged, fields, shaped
from .lmdb_tree import Database, DatabaseTable, open_database

__all__ = ["Caffe", "caffe"]


@source_operator("readers.caffe", schema="readers__Caffe", formerly=("caffe_reader",))
@op.uses_arguments(ReaderArguments)
def caffe(
    *,
    path: op.Paths,
    image_available: bool = True,
    label_available: bool = True,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read images and labels from LMDB files of Caffe, in the order of their keys.

    Args:
        path: the databases, one or several: folders with a `data.mdb`, or files.
        image_available: deliver images.
        label_available: deliver labels.

    Returns:
        The images, uint8: encoded ones 1-D; others (height, width, channels) with the bytes as they
        lie in the record, where Caffe itself has channels first. And the labels, int32 of shape
        (1,), or (0,) where the record has none.

    Raises:
        OperatorValueError: for a missing database.
        OperatorRuntimeError: with the database and the key, for a damaged record, and for encoded
            and other images in one batch.

    Example:
        reader = gradiva.readers.Caffe(path="caffe_lmdb")
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    made = (op.SampleType(op.uint8, None, "", "cpu"), op.SampleType(op.int32, 1, "", "cpu"))
    asked = [
        one for one, there in zip(made, (image_available, label_available), strict=True) if there
    ]
    if not asked:
        raise op.OperatorValueError("give one of `image_available` and `label_available`")
    return tuple(asked)


class DatumTable(DatabaseTable):
    """The records of databases, as images and labels."""

    def __init__(self, database: Database, images: bool, labels: bool) -> None:
        super().__init__(database)
        self._asked = images, labels

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        (images, labels), failures = self.parsed(indices, pool, _parts, 2)
        made = uniform(images, op.uint8, 1, "images"), uniform(labels, op.int32, 1, "labels")
        columns = [one for one, asked in zip(made, self._asked, strict=True) if asked]
        return Records(tuple(columns), failures)


def _parts(record: Array, _: int) -> tuple[Array, Array]:
    """Image and label of a record. Raises SampleDataError."""
    extents, encoded = {1: 0, 2: 0, 3: 0}, True
    image = np.empty(0, np.uint8)
    label = np.empty(0, np.int32)
    for number, value in fields(record.tobytes()):
        if number == 4 and isinstance(value, bytes):
            image = np.frombuffer(value, np.uint8)
        elif number in (1, 2, 3, 5, 7) and isinstance(value, int):
            if number == 5:
                label = np.array([value], np.uint64).astype(np.int32)
            elif number == 7:
                encoded = bool(value)
            else:
                extents[number] = value
        elif number in (1, 2, 3, 4, 5, 7):
            raise damaged(f"its field {number} is of another type")
    if not encoded:
        image = shaped(image, (extents[2], extents[3], extents[1]), "its size and its data")
    return image, label


caffe.not_serializable(*SHUFFLED_AFTER)


@opens_table(caffe, container=True)
def _open(given: dict[str, Any]) -> DatumTable:
    database = open_database(given["path"], storage_of(given))
    return DatumTable(database, given["image_available"], given["label_available"])


Caffe = reader_class("Caffe", caffe)
