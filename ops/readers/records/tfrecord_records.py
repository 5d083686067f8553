"""TFRecord files: where the records lie, and their checksums.

A record: length (uint64), masked CRC-32C of these 8 bytes, data, masked CRC-32C of the data; all
little-endian. A mask turns the checksum by 15 bits and adds a constant. (TensorFlow,
`core/lib/io/record_writer.h`.)
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import I64Table, I64Vector, U8Vector
from gradiva.ops.readers.core.containers import compression_of, text_lines
from gradiva.ops.readers.core.scan_cache import Scan
from gradiva.ops.storage.handles import Handle, pread
from gradiva.ops.storage.storage import Storage

HEAD: Final = 12
"""Bytes in front of the data of a record."""
AROUND: Final = 16
"""Bytes of a record that are not data."""
_LENGTH = struct.Struct("<Q")


def scan_records(handle: Handle, size: int) -> Scan:
    """Offset and size of each record, with what is around its data. Raises SampleDataError."""
    found: list[tuple[int, int]] = []
    place = 0
    while place < size:
        head = pread(handle, HEAD, place)
        whole = _LENGTH.unpack(head[:8])[0] + AROUND if len(head) == HEAD else HEAD
        if place + whole > size or len(head) < HEAD:
            if not found and (name := compression_of(pread(handle, 6, 0))):
                raise op.SampleDataError(f"the file is compressed with {name}: decompress it")
            raise op.SampleDataError(
                f"a damaged record: it ends early (record {len(found)}, at byte {place})",
                expected=f"at least {whole} bytes",
                got=str(size - place),
            )
        found.append((place, whole))
        place += whole
    return np.array(found, np.int64).reshape(-1, 2), b""


def indexed_records(
    index: str, path: str, size: int, storage: Storage | None = None
) -> op.Int64Array:
    """The same from lines `offset size`. Raises OperatorRuntimeError."""
    found = []
    for number, line in enumerate(text_lines(index, "index_path", storage), 1):
        words = line.split()
        if not words:
            continue
        good = len(words) == 2 and all(word.isdecimal() and len(word) < 19 for word in words)
        if not good or int(words[1]) < AROUND or int(words[0]) + int(words[1]) > size:
            raise op.OperatorRuntimeError(
                argument="index_path",
                expected=f"lines of the form 'offset size', of records in the {size} bytes of "
                f"{path}",
                got=f"line {number}: {line!r}",
                file=index,
            )
        found.append((int(words[0]), int(words[1])))
    return np.array(found, np.int64).reshape(-1, 2)


@cache
def _tables() -> op.Int64Array:
    """(8, 256): the checksum of a byte with 0 to 7 zeros behind it."""
    tables = np.zeros((8, 256), np.int64)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        tables[0, byte] = crc
    for zeros in range(1, 8):
        before = tables[zeros - 1]
        tables[zeros] = before >> 8 ^ tables[0, before & 255]
    return tables


@op.jit
def _checksums(
    data: U8Vector, begins: I64Vector, ends: I64Vector, tables: I64Table, found: I64Vector
) -> None:
    """CRC-32C of ranges of bytes, eight bytes at a time; tables: (8, 256), for each place in
    eight."""
    for sample in range(begins.size):
        crc = np.int64(0xFFFFFFFF)
        place, end = begins[sample], ends[sample]
        while end - place >= 8:
            low = np.int64(0)
            for index in range(4):
                low |= np.int64(data[place + index]) << (8 * index)
            low ^= crc
            crc = np.int64(0)
            for index in range(4):
                crc ^= tables[7 - index, low >> (8 * index) & 255]
                crc ^= tables[3 - index, data[place + 4 + index]]
            place += 8
        while place < end:
            crc = crc >> 8 ^ tables[0, (crc ^ data[place]) & 255]
            place += 1
        crc ^= 0xFFFFFFFF
        turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
        found[sample] = (turned + 0xA282EAD8) & 0xFFFFFFFF


def checksums(
    data: np.ndarray[Any, Any], begins: op.Int64Array, ends: op.Int64Array
) -> op.Int64Array:
    """The masked CRC-32C of each of these pieces of data."""
    found = np.empty(len(begins), np.int64)
    _checksums(data, begins, ends, _tables(), found)
    return found
