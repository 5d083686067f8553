"""What lies where in tar archives of samples, from their headers or from an index file."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.readers.core.containers import BLANKS, compression_of, text_lines
from gradiva.ops.readers.core.scan_cache import Scan, kept_scan
from gradiva.ops.storage.handles import Handle, pread
from gradiva.ops.storage.storage import Storage

from .tar_headers import plain_scan

if TYPE_CHECKING:
    import tarfile
else:
    tarfile = lazy_module("tarfile")

_LARGEST_HEADER: Final = 1 << 20
"""Long names and extended headers are read; what is larger is no name."""
_BLOCK: Final = 512
_BLANK: Final = re.compile(f"[{BLANKS}]+")


class Component(NamedTuple):
    """A file of a sample: the part of its name behind the first dot, its place, its name."""

    extension: str
    offset: int
    size: int
    name: str


class _Headers(io.RawIOBase):
    """An archive for `tarfile`, of which no more than headers is read."""

    def __init__(self, handle: Handle, size: int) -> None:
        self._handle, self._size, self._place = handle, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        if not 0 <= start + offset < 1 << 62:
            raise tarfile.ReadError("a place outside of the archive")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        data = pread(self._handle, size, self._place)
        self._place += len(data)
        return data


def _scan(handle: Handle, size: int) -> Scan:
    """Offset and size of the data of each regular file, and their names. Raises SampleDataError."""
    plain = plain_scan(handle, size) if isinstance(handle, int) else None
    found, end = _scan_any(handle, size) if plain is None else plain
    # `tarfile` takes a damaged header for the end.
    behind = pread(handle, _BLOCK, end)
    if behind.strip(b"\0"):
        raise op.SampleDataError(
            f"the archive cannot be read: a damaged header (member {len(found[0])}, at byte {end})"
        )
    return found


def _scan_any(handle: Handle, size: int) -> tuple[Scan, int]:
    """The same by `tarfile`, and where the archive ends."""
    places: list[tuple[int, int]] = []
    names: list[bytes] = []
    end = 0
    try:
        with tarfile.open(fileobj=_Headers(handle, size), mode="r:") as archive:
            while (member := archive.next()) is not None:
                vars(archive)["members"].clear()  # they would all be kept
                end = archive.offset
                if member.issparse():
                    raise tarfile.ReadError(f"{member.name} is a sparse file")
                if not member.isreg():
                    continue
                if "\0" in member.name or member.size < 0:
                    raise tarfile.ReadError("a name or size that cannot be")
                if member.offset_data + member.size > size:
                    raise tarfile.ReadError(f"{member.name} ends behind the archive")
                places.append((member.offset_data, member.size))
                names.append(member.name.encode("utf-8", "surrogateescape"))
            end = archive.offset
    except (tarfile.TarError, ValueError, OverflowError, ArithmeticError, LookupError) as error:
        reason = compression_of(pread(handle, 6, 0)) if not places else None
        text = f"compressed with {reason}: decompress it" if reason else str(error)
        raise op.SampleDataError(
            f"the archive cannot be read: {text} (member {len(places)}, at byte {end})"
        ) from None
    return (np.array(places, np.int64).reshape(-1, 2), b"\0".join(names)), end


def scanned(path: str, storage: Storage | None = None) -> list[list[Component]]:
    """The samples of an archive: files that follow each other, with one name up to the first dot.

    Files whose name begins with a dot belong to none. Raises OperatorValueError, SampleDataError.
    """
    places, text = kept_scan("tar 1", path, 2, _scan, storage)
    names = text.decode("utf-8", "surrogateescape").split("\0") if len(places) else []
    if len(names) != len(places):
        raise op.SampleDataError("the archive cannot be read: its names", file=path)
    samples: list[list[Component]] = []
    last = None
    for name, (offset, size) in zip(names, places.tolist(), strict=True):
        folder, slash, file = name.rpartition("/")
        base, _, extension = file.partition(".")
        if not base:
            continue
        key = folder + slash + base
        if key != last:
            samples.append([])
            last = key
        samples[-1].append(Component(extension, offset, size, name))
    return samples


def index_lines(path: str) -> list[str]:
    """The lines of an index of an archive: with names, unless one of them holds a space."""
    samples = scanned(path)
    words = [word for sample in samples for one in sample for word in (one.name, one.extension)]
    named = not any(_words(word) != [word] for word in words if word)
    lines = []
    for sample in samples:
        fields = (
            [one.extension, str(one.offset), str(one.size), *([one.name] if named else [])]
            for one in sample
            if _words(one.extension) == [one.extension]
        )
        line = " ".join(word for field in fields for word in field)
        lines += [line] if line else []
    return [f"v1.{2 if named else 1} {len(lines)}", *lines]


def indexed(
    index: str, path: str, size: int, storage: Storage | None = None
) -> list[list[Component]]:
    """The samples that an index file tells of. Raises OperatorRuntimeError."""
    lines = text_lines(index, "index_paths", storage)
    head = lines[0].split() if lines else []
    if not head or not head[0].startswith("v"):
        raise _malformed(index, 1, "no version signature found")
    if head[0] not in ("v1.1", "v1.2"):
        raise _malformed(index, 1, f"unsupported version {head[0]} of the index file")
    if len(head) < 2 or not head[1].isdecimal() or len(head[1]) > 18:
        raise _malformed(index, 1, "no sample count found")
    if int(head[1]) < 1:
        raise _malformed(index, 1, "sample count must be positive")
    if int(head[1]) != len([line for line in lines[1:] if line.strip()]):
        raise _malformed(index, 1, "there are more or fewer samples than it says")
    width = 4 if head[0] == "v1.2" else 3
    numbered = enumerate(lines[1:], 2)
    return [
        list(_components(index, number, _words(line), width, path, size))
        for number, line in numbered
        if line.strip()
    ]


def _components(
    index: str, number: int, words: list[str], width: int, path: str, size: int
) -> Iterator[Component]:
    if len(words) % width:
        raise _malformed(index, number, "a component has an extension, offset, size, and name")
    for first in range(0, len(words), width):
        extension, offset, length, *name = words[first : first + width]
        if not (offset.isdecimal() and length.isdecimal() and len(offset + length) < 36):
            raise _malformed(index, number, "offset and size are numbers")
        if int(offset) % _BLOCK:
            raise _malformed(index, number, f"the offset is no multiple of {_BLOCK}")
        if int(offset) + int(length) > size:
            raise _malformed(index, number, f"the component ends behind the archive {path}")
        yield Component(extension, int(offset), int(length), name[0] if name else "")


def _words(line: str) -> list[str]:
    return [word for word in _BLANK.split(line) if word]


def _malformed(index: str, line: int, reason: str) -> op.OperatorRuntimeError:
    facts: dict[str, Any] = {"argument": "index_paths", "file": index}
    return op.OperatorRuntimeError(f"malformed index file, line {line}: {reason}", **facts)
