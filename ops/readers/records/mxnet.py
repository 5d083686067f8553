"""`readers.mxnet`: images and labels from RecordIO files.

The format: a record is one chunk, or several where the magic number stood in it, which is cut out
there. A chunk: the magic number, 3 bits that say which part of a record it is and 29 of its length,
the data, and zeros up to a multiple of four bytes. The data of an image record: flag (uint32),
label (float32) and two numbers (uint64) of the image; if flag is not 0, as many labels (float32);
the encoded image. (MXNet, `src/io/image_recordio.h`; dmlc-core, `recordio.h`.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.readers.core.containers import (
    Containers,
    Places,
    RecordTable,
    check_not_empty,
    text_lines,
)
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.scan_cache import Scan, kept_scan
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Records, uniform
from gradiva.ops.readers.reader_arguments import ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.handles import Handle, pread
from gradiva.ops.storage.storage import Storage

__all__ = ["MXNet", "index_lines", "mxnet", "scan_records"]

_MAGIC = 0xCED7230A
_CHUNK = struct.Struct("<II")
_IMAGE = struct.Struct("<IfQQ")
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)


@source_operator("readers.mxnet", schema="readers__MXNet", formerly=("mxnet_reader",))
@op.uses_arguments(ReaderArguments)
def mxnet(
    *, path: op.Paths, index_path: op.Paths | None = None, **options: op.Unpack[ReaderOptions]
) -> tuple[op.SampleType, op.SampleType]:
    """Read RecordIO files of MXNet: encoded images (uint8, 1-D) and labels (float32).

    Args:
        path: the files, one or several.
        index_path: text files with lines `key offset`, as `gradiva rec2idx` writes them:
            one for each file, or one for all of them, whose offsets count through them. Without
            any, the files are scanned, which is done once for each large file.

    Returns:
        The encoded images, uint8, 1-D, and their labels, float32: of shape (1,), or (n,) where the
        records say that there are n.

    Raises:
        OperatorValueError: for a missing file.
        OperatorRuntimeError: with the file and the place in it, for a damaged record, and for an
            index that does not belong to the file.

    Example:
        reader = gradiva.readers.MXNet(path="data.rec", index_path="data.rec.idx")
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    return op.SampleType(op.uint8, 1, "", "cpu"), op.SampleType(op.float32, 1, "", "cpu")


class RecordIOTable(RecordTable):
    """The records of RecordIO files, as images and labels."""

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        (images, labels), failures = self.parsed(indices, pool, _parts, 2)
        made = uniform(images, op.uint8, 1, "images"), uniform(labels, op.float32, 1, "labels")
        return Records(made, failures)


def _parts(record: Array, _: int) -> tuple[Array, Array]:
    """Image and labels of a record. Raises SampleDataError."""
    data = _joined(record)
    if data.size < _IMAGE.size:
        raise op.SampleDataError(
            "a damaged record", expected=f"at least {_IMAGE.size} bytes", got=str(data.size)
        )
    flag, label, _, _ = _IMAGE.unpack(data[: _IMAGE.size].tobytes())
    image = data[_IMAGE.size :]
    if flag == 0:
        return image, np.array([label], np.float32)
    if image.size < 4 * flag:
        raise op.SampleDataError(
            "a damaged record", expected=f"{flag} labels", got=f"{image.size} bytes"
        )
    return image[4 * flag :], np.frombuffer(image[: 4 * flag].tobytes(), "<f4").astype(np.float32)


def _joined(record: Array) -> Array:
    """The data of a record, from its chunks. Raises SampleDataError."""
    parts: list[Array] = []
    place, part = 0, _FIRST
    while part in (_FIRST, _MIDDLE):
        head = record[place : place + _CHUNK.size].tobytes()
        if len(head) < _CHUNK.size:
            raise op.SampleDataError("a damaged record: it ends early")
        part, size = _checked(head, bool(parts))
        begin = place + _CHUNK.size
        if begin + size > record.size:
            raise op.SampleDataError(
                "a damaged record: it ends early",
                expected=f"{begin + size} bytes",
                got=str(record.size),
            )
        parts += [_SEPARATOR, record[begin : begin + size]] if parts else [record[begin:][:size]]
        place = begin + -(-size // 4) * 4
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


_SEPARATOR = np.frombuffer(_MAGIC.to_bytes(4, "little"), np.uint8)


def _checked(head: bytes, inside: bool) -> tuple[int, int]:
    """Which part of a record a chunk is, and the length of its data. Raises SampleDataError."""
    magic, word = _CHUNK.unpack(head)
    part = word >> 29
    if magic != _MAGIC:
        raise op.SampleDataError(
            "a damaged record: the magic number", expected=hex(_MAGIC), got=hex(magic)
        )
    if part not in ((_MIDDLE, _LAST) if inside else (_WHOLE, _FIRST)):
        raise op.SampleDataError(
            "a damaged record: its parts are out of order",
            expected="a part that continues it" if inside else "its first part",
            got=f"part {part}",
        )
    return part, word & ((1 << 29) - 1)


def scan_records(handle: Handle, size: int) -> Scan:
    """Offset and size of each record. Raises SampleDataError."""
    found: list[tuple[int, int]] = []
    place = begin = 0
    inside = False
    while place < size:
        head = pread(handle, _CHUNK.size, place)
        try:
            if len(head) < _CHUNK.size:
                raise op.SampleDataError("a damaged record: it ends early")
            part, length = _checked(head, inside)
            place += _CHUNK.size + length
            if place > size:
                raise op.SampleDataError(
                    "a damaged record: it ends early", expected=f"{place} bytes", got=str(size)
                )
        except op.SampleDataError as error:
            raise _located(error, len(found), begin) from None
        place += -length % 4
        inside = part in (_FIRST, _MIDDLE)
        if not inside:
            found.append((begin, min(place, size) - begin))
            begin = place
    if inside:
        raise _located(op.SampleDataError("a damaged record: it ends early"), len(found), begin)
    return np.array(found, np.int64).reshape(-1, 2), b""


def _located(error: op.SampleDataError, number: int, offset: int) -> op.SampleDataError:
    error.problem = f"{error.problem} (record {number}, at byte {offset})"
    return error


@opens_table(mxnet, container=True)
def _open(given: dict[str, Any]) -> RecordIOTable:
    storage = storage_of(given)
    containers = Containers(given["path"], "path", storage)
    indices: Sequence[str] = given["index_path"] or ()
    if len(indices) == len(containers.paths):
        parts = [
            _indexed(index, [file], [facts.size], storage)[:, 1:]
            for index, file, facts in zip(indices, containers.paths, containers.facts, strict=True)
        ]
    elif len(indices) == 1:
        sizes = [facts.size for facts in containers.facts]
        every = _indexed(indices[0], containers.paths, sizes, storage)
        parts = [every[every[:, 0] == file, 1:] for file in range(len(containers.paths))]
    elif not indices:
        parts = [_scanned(path, storage) for path in containers.paths]
    else:
        raise op.wrong_value(
            "index_path",
            f"one file, or {len(containers.paths)}, as many as in `path`",
            len(indices),
        )
    places = Places.join(parts)
    check_not_empty(len(places.files), containers, "path")
    return RecordIOTable(containers, places)


def _scanned(path: str, storage: Storage | None = None) -> op.Int64Array:
    return kept_scan("recordio 1", path, 2, scan_records, storage)[0]


def _indexed(index: str, paths: list[str], sizes: list[int], storage: Storage) -> op.Int64Array:
    """(records, 3): number of the file, offset and size, in the order of the offsets."""
    lines = [line.split() for line in text_lines(index, "index_path", storage)]
    ends = np.cumsum(sizes)
    offsets = []
    for number, line in enumerate(lines, 1):
        if line:
            good = len(line) == 2 and line[1].isdecimal() and len(line[1]) < 19
            if not good or int(line[1]) >= ends[-1]:
                raise op.OperatorRuntimeError(
                    argument="index_path",
                    expected="lines of the form 'key offset', with offsets below "
                    f"{ends[-1]}, where {paths[-1]} ends",
                    got=f"line {number}: {' '.join(line)!r}",
                    file=index,
                )
            offsets.append(int(line[1]))
    begins = np.unique(np.array(offsets, np.int64))  # sorted; a size of 0 is no record
    files = np.searchsorted(ends, begins, "right")
    limits = np.minimum(np.append(begins[1:], ends[-1]), ends[files])
    return np.stack([files, begins - (ends - sizes)[files], limits - begins], 1)


def index_lines(path: str) -> list[str]:
    """The lines of an index of a file."""
    return [f"{key}\t{offset}" for key, offset in enumerate(_scanned(path)[:, 0].tolist())]


MXNet = reader_class("MXNet", mxnet)
