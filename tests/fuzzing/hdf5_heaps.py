"""Heaps of HDF5 files, as their library gets to see them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gradiva.ops.readers.rows.hdf5_guard import GuardedFile

__all__ = ["read", "seeds"]

MARK = b"GCOL\1\0\0\0"


def read(data: bytes) -> None:
    """The first bytes say where reads begin and how long they are, as the library asks for parts.
    What is read is in the file, and the library comes to the end of each heap in it."""
    places, content = data[:8], data[8:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heaps"
        path.write_bytes(content)
        with GuardedFile(str(path), None, {}) as file:
            for begin, count in [*zip(places[::2], places[1::2], strict=False), (0, len(content))]:
                file.seek(min(8 * begin, len(content)))
                found = file.read(8 * count)
                assert found == content[8 * begin : 8 * begin + 8 * count]
                for at in range(0, len(found), 8):
                    if found.startswith(MARK, at):
                        assert ends(content[8 * begin + at :])


def ends(heap: bytes) -> bool:
    """Whether a walk over the objects of a heap goes on at each of them, to its end."""
    size, at = int.from_bytes(heap[8:16], "little"), 16
    while at + 16 <= size:
        extent = int.from_bytes(heap[at + 8 : at + 16], "little")
        if heap[at] or heap[at + 1]:
            extent = 16 + extent + -extent % 8
        if not 0 < extent <= size - at:
            return False
        at += extent
    return 16 <= size <= len(heap)


def seeds() -> list[bytes]:
    def thing(number: int, content: bytes) -> bytes:
        head = number.to_bytes(8, "little") + len(content).to_bytes(8, "little")
        return head + content + bytes(-len(content) % 8)

    def heap(*contents: bytes) -> bytes:
        objects = b"".join(thing(number, one) for number, one in enumerate(contents, 1))
        end = bytes(8) + (16).to_bytes(8, "little")
        return MARK + (32 + len(objects)).to_bytes(8, "little") + objects + end

    few, many = heap(b"one", b""), heap(*(b"x" * k for k in range(12)))
    return [
        bytes([0, 99] * 4) + few + many,
        bytes([1, 2, 3, 20, 1, 2, 0, 9]) + bytes(8) + many + few,
        bytes([0, 3, 3, 30, 4, 4, 9, 9]) + heap(few, b"inner", many),
    ]
