"""`readers.caffe2`: images, labels and more tensors from LMDB files of Caffe2.

A record is a message TensorProtos: 1 repeated TensorProto {1 repeated dims, 2 data_type: 1 float, 2
int32, 3 byte, 4 string, 10 int64; 3 float_data, 4 int32_data, 5 byte_data, 6 string_data, 10
int64_data} (`caffe2.proto`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

from .caffe_messages import damaged, fields, numbers_of, shaped
from .lmdb_tree import Database, DatabaseTable, open_database

__all__ = ["Caffe2", "caffe2"]

_SINGLE, _SPARSE, _DENSE, _WEIGHTED, _NONE = range(5)
_FLOAT, _INT32, _BYTE, _STRING, _INT64 = 1, 2, 3, 4, 10
_FIELDS = {_FLOAT: (3, "<f4"), _INT32: (4, "<i4"), _INT64: (10, "<i8")}


@source_operator("readers.caffe2", schema="readers__Caffe2", formerly=("caffe2_reader",))
@op.uses_arguments(ReaderArguments)
def caffe2(
    *,
    path: op.Paths,
    image_available: bool = True,
    label_type: int = 0,
    num_labels: int = 1,
    additional_inputs: int = 0,
    bbox: bool = False,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read images, labels and more from LMDB files of Caffe2, in the order of their keys.

    Args:
        path: the databases, one or several: folders with a `data.mdb`, or files.
        image_available: the records begin with an image.
        label_type: what the labels are. 0: one number. 1: numbers of the labels that an image has.
            2: a number for each label. 3: numbers of labels, and then their weights. 4: there are
            none.
        num_labels: how many labels there are, for 1 and 3.
        additional_inputs: how many further tensors follow the label, one output each.
        bbox: the last tensor is a bounding box.

    Returns:
        The images, uint8: encoded ones 1-D, others (height, width, channels). The labels: int32 of
        shape (1,), or of shape (num_labels,) with 1 for those that the image has; or as they are;
        or float32 of shape (num_labels,) with weights. The further tensors. The bounding box, int32
        of shape (4,).

    Raises:
        OperatorValueError: for a missing database.
        OperatorRuntimeError: with the database and the key, for a damaged record, and for tensors
            of several types in one batch.

    Example:
        reader = gradiva.readers.Caffe2(path="caffe2_lmdb")
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    return _types(image_available, label_type, num_labels, additional_inputs, bbox)


_MOST_TENSORS = 1000
"""Of a record that are read."""


def _types(
    image: bool, label_type: int, num_labels: int, others: int, box: bool
) -> tuple[op.SampleType, ...]:
    """The types of the outputs. Raises OperatorValueError."""
    if not 0 <= label_type <= _NONE:
        raise op.wrong_value("label_type", "from 0 to 4", label_type)
    if num_labels < 1:
        raise op.wrong_value("num_labels", "at least 1", num_labels)
    if not 0 <= others <= _MOST_TENSORS:
        raise op.wrong_value("additional_inputs", f"from 0 to {_MOST_TENSORS}", others)
    labels = (op.int32, op.int32, None, op.float32)
    made = [op.SampleType(op.uint8, None, "", "cpu")] if image else []
    if label_type != _NONE:
        made.append(op.SampleType(labels[label_type], 1, "", "cpu"))
    made += [op.SampleType(None, None, "", "cpu")] * others
    if box:
        made.append(op.SampleType(op.int32, 1, "", "cpu"))
    if not made:
        raise op.OperatorValueError("there is nothing to read: no image, label or other tensor")
    return tuple(made)


class _RecordParts(NamedTuple):
    """What is read of each record."""

    image: bool
    label_type: int
    labels: int
    others: int
    box: bool

    def of(self, record: Array, _: int) -> list[Array]:
        """The outputs of a record. Raises SampleDataError."""
        values = [value for number, value in fields(record.tobytes()) if number == 1]
        tensors = [one for one in values if isinstance(one, bytes)]
        if len(tensors) < len(values):
            raise damaged("its field 1 is of another type")
        label = {_NONE: 0, _WEIGHTED: 2}.get(self.label_type, 1)
        needed = self.image + label + self.others + self.box
        if len(tensors) < needed:
            raise op.SampleDataError(
                "a damaged record", expected=f"{needed} tensors", got=str(len(tensors))
            )
        found = [_image(tensors[0])] if self.image else []
        place = int(self.image)
        if label:
            found.append(self._label(tensors[place : place + label]))
        # Without labels, what the file may hold of them is passed over.
        place = place + label if label else len(tensors) - self.others - self.box
        found += [_tensor(one) for one in tensors[place : place + self.others]]
        if self.box:
            found.append(shaped(_numbers(tensors[-1], _INT32), (4,), "its bounding box"))
        return found

    def _label(self, tensors: list[bytes]) -> Array:
        if self.label_type == _SINGLE:
            return shaped(_numbers(tensors[0], _INT32), (1,), "its label")
        if self.label_type == _DENSE:
            return _tensor(tensors[0]).reshape(-1)
        numbers = _numbers(tensors[0], _INT32)
        if ((numbers < 0) | (numbers >= self.labels)).any():
            raise op.SampleDataError(
                "a damaged record: its labels",
                expected=f"numbers from 0 to num_labels - 1 = {self.labels - 1}",
                got=str(numbers.tolist())[:80],
            )
        if self.label_type == _SPARSE:
            made = np.zeros(self.labels, np.int32)
            made[numbers] = 1
            return made
        weights = np.zeros(self.labels, np.float32)
        weights[numbers] = shaped(_numbers(tensors[1], _FLOAT), numbers.shape, "its weights")
        return weights


def _split(tensor: bytes) -> tuple[int, tuple[int, ...], dict[int, list[int | bytes]]]:
    """Type, shape and the other fields of a TensorProto."""
    found: dict[int, list[int | bytes]] = {}
    for number, value in fields(tensor):
        found.setdefault(number, []).append(value)
    kind = found.get(2, [_FLOAT])[-1]
    if not isinstance(kind, int):
        raise damaged("its field 2 is of another type")
    return kind, tuple(numbers_of(found.get(1, []), "<i8").tolist()), found


def _data(found: dict[int, list[int | bytes]], number: int) -> bytes:
    value = found.get(number, [b""])[-1 if number == 5 else 0]
    if not isinstance(value, bytes):
        raise damaged(f"its field {number} is of another type")
    return value


def _image(tensor: bytes) -> Array:
    kind, shape, found = _split(tensor)
    if kind == _STRING:
        return np.frombuffer(_data(found, 6), np.uint8)
    if kind == _BYTE:
        return shaped(np.frombuffer(_data(found, 5), np.uint8), shape, "its size and its data")
    raise damaged(f"its image is of type {kind}, neither bytes (3) nor a string (4)")


def _numbers(tensor: bytes, kind: int) -> Array:
    """The values of a tensor that must be of this type."""
    got, _, found = _split(tensor)
    if got != kind:
        raise op.SampleDataError(
            "a damaged record: the type of a tensor", expected=str(kind), got=str(got)
        )
    number, dtype = _FIELDS[kind]
    return numbers_of(found.get(number, []), dtype)


def _tensor(tensor: bytes) -> Array:
    kind, shape, found = _split(tensor)
    if kind in (_STRING, _BYTE):
        return _image(tensor)
    if kind not in _FIELDS:
        raise damaged(f"a tensor of type {kind}, which is not read")
    number, dtype = _FIELDS[kind]
    return shaped(numbers_of(found.get(number, []), dtype), shape, "the shape of a tensor")


class TensorTable(DatabaseTable):
    """The records of databases, as tensors."""

    def __init__(
        self, database: Database, asked: _RecordParts, types: tuple[op.SampleType, ...]
    ) -> None:
        super().__init__(database)
        self._asked, self._types = asked, types

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        columns, failures = self.parsed(indices, pool, self._asked.of, len(self._types))
        made = [
            uniform(column, kind.dtype or op.float32, kind.ndim or 1, f"output {number}")
            for number, (column, kind) in enumerate(zip(columns, self._types, strict=True))
        ]
        return Records(tuple(made), failures)


caffe2.not_serializable(*SHUFFLED_AFTER)


@opens_table(caffe2, container=True)
def _open(given: dict[str, Any]) -> TensorTable:
    names = ("image_available", "label_type", "num_labels", "additional_inputs", "bbox")
    asked = _RecordParts(*(given[name] for name in names))
    types = _types(*asked)
    return TensorTable(open_database(given["path"], storage_of(given)), asked, types)


Caffe2 = reader_class("Caffe2", caffe2)
