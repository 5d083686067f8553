"""The files of a cache on disk, with records whose own checksums are right."""

from __future__ import annotations

import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np

from gradiva.ops.cache import maintenance
from gradiva.ops.cache.checksums import checksums
from gradiva.ops.cache.disk_store import DiskStore
from gradiva.ops.cache.packing import can_pack, packed
from gradiva.ops.cache.records import (
    FAILURE,
    KIND,
    PACKED,
    RECORD_BYTES,
    Kind,
    NewRecord,
    made_records,
)
from gradiva.ops.cache.shard_files import DATA, HEADER_BYTES, INDEX, VERSION, Header

__all__ = ["read", "seeds"]

NAME = bytes(range(16))
CONTENT = RECORD_BYTES - 4
"""Bytes of a record without its checksum."""
MOST = 1 << 20


def read(data: bytes) -> None:
    """The first byte says how many records there are, which follow; the rest are the data."""
    count = data[0] % 8 if data else 0
    contents = [data[1 + number * CONTENT :][:CONTENT] for number in range(count)]
    whole = [one.ljust(CONTENT, b"\0") for one in contents]
    seed = zlib.crc32(NAME)
    index = b"".join(one + zlib.crc32(one, seed).to_bytes(4, "little") for one in whole)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for ending, content in ((INDEX, index), (DATA, data[1 + count * CONTENT :])):
            header = Header(VERSION, ending, NAME, 1).packed()
            (Path(folder) / f"gradiva-{NAME.hex()}{ending}").write_bytes(header + content)
        store = DiskStore(Path(folder), MOST)
        for entry in store.find([one[:16] for one in whole]):
            if entry is not None and entry.failure is None and entry.size < MOST:
                store.read(entry, np.empty(entry.size, np.uint8))
        store.close()
        maintenance.examine(Path(folder))
        if sum(entry.stored for entry in store._catalog.entries()) < MOST:
            maintenance.verify(Path(folder), lambda entries, _: iter(entries))


def seeds() -> list[bytes]:
    """A kind, and an entry of it: plain, packed, a damaged sample; a kind with a shape."""
    made = [b"", bytes(200)]
    plain = np.arange(60, dtype=np.uint8)
    small = packed(np.zeros(1 << 14, np.uint8)) if can_pack() else plain
    facts = np.frombuffer(b'{"problem": "cut"}', np.uint8)
    for shape, content, flags in (
        ((6, 10), plain, 0),
        ((128, 128), small, PACKED),
        ((len(facts),), facts, FAILURE),
        ((1, 1, 1, 3, 2, 10), plain, 0),
    ):
        fits = len(shape) <= 5
        kind = Kind("uint8", 1, "", len(shape), None if fits else shape)
        text = np.frombuffer(kind.text(), np.uint8)
        assert content is not None
        records, data = b"", b""
        for key, part, extents, flag in (
            (NAME, text, (len(text),), KIND),
            (bytes(16), content, shape if fits else None, flags),
        ):
            offset = HEADER_BYTES + len(data)
            records += made_records([NewRecord(key, offset, len(part), 0.5, 0, flag, extents)], 0)[
                :CONTENT
            ]
            data += part.tobytes() + checksums(key, part).tobytes()
        made.append(b"\2" + records + data)
    return made
