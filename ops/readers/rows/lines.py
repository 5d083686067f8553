"""Where the lines of text files and the rows of CSV files lie, and the fields of a row.

Rows are those that Python's `csv` finds: a quotation mark begins quoted text, which may hold line
breaks and delimiters, at the beginning of a field only; anywhere else it is a letter.
"""

from __future__ import annotations

import csv
import threading
from functools import partial
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import compression_of
from gradiva.ops.readers.core.scan_cache import Scan
from gradiva.ops.storage.handles import Handle, pread

_CHUNK: Final = 1 << 22
_QUOTE: Final = 34
_BOM: Final = b"\xef\xbb\xbf"

_COMPRESSED: Final = "gzip", "xz", "zstandard", "lz4", "zip"
"""What a text cannot begin like."""

_limit_lock = threading.Lock()


def scan_lines(handle: Handle, size: int) -> Scan:
    """Place and size of each line that is not empty, without its line break. Raises
    SampleDataError."""
    return _scan(handle, size, None)


def rows_scan(delimiter: str) -> Any:
    """The same for rows of CSV files with this delimiter."""
    return partial(_scan_rows, delimiter=delimiter.encode("utf-8", "surrogatepass"))


def _scan_rows(handle: Handle, size: int, delimiter: bytes) -> Scan:
    return _scan(handle, size, _Quotes(delimiter))


def _scan(handle: Handle, size: int, quotes: _Quotes | None) -> Scan:
    ends: list[np.ndarray[Any, Any]] = []
    returns: list[np.ndarray[Any, Any]] = []
    place, before, first = 0, 0, 0
    while place < size:
        content = pread(handle, _CHUNK, place)
        data = np.frombuffer(content, np.uint8)
        if not data.size:
            raise op.SampleDataError(f"it ends at byte {place}")
        if not place:
            name = compression_of(content)
            if name in _COMPRESSED:
                raise op.SampleDataError(f"the file is compressed with {name}: decompress it")
            first = len(_BOM) if content.startswith(_BOM) else 0
        found = np.flatnonzero(data == 10)
        if quotes is not None:
            found = quotes.breaks(content, data, found)
        returns.append(np.where(found > 0, data[found - 1], before) == 13)
        ends.append(place + found)
        place, before = place + data.size, int(data[-1])
    stops = np.concatenate([*ends, [size]]).astype(np.int64)
    begins = np.concatenate([[first], stops[:-1] + 1])
    stops -= np.concatenate([*returns, [before == 13]]).astype(np.int64)
    places = np.stack([begins, stops - begins], 1)
    return places[places[:, 1] > 0], b""


class _Quotes:
    """Which line breaks are text, chunk after chunk of a file."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self._inside = False
        self._tail = b""
        """The last bytes in front of the chunk."""
        self._closed = False
        """Whether the last byte of the chunk before was a mark that ended quoted text."""

    def breaks(self, content: bytes, data: Any, found: Any) -> Any:
        """Those of the line breaks at these places of a chunk that end a row."""
        marks = np.flatnonzero(data == _QUOTE)
        if marks.size:
            turns = self._turns(content, data, marks)
            odd = np.searchsorted(turns, found) % 2 == 1
            found = found[odd == self._inside]
            self._closed = bool(turns.size) and int(turns[-1]) == data.size - 1
            self._inside ^= turns.size % 2 == 1
            self._closed &= not self._inside
        else:
            found = found[:0] if self._inside else found
            self._closed = False
        self._tail = (self._tail + content[-8:])[-8:]
        return found

    def _turns(self, content: bytes, data: Any, marks: Any) -> Any:
        """The marks at which quoted text begins and ends."""
        starts = self._starts(content, data, marks)
        follows = np.diff(marks, prepend=-1 if self._closed else -2) == 1
        opens = np.arange(marks.size) % 2 == int(self._inside)
        wrong = np.flatnonzero(opens & ~starts & ~follows)
        if not wrong.size:
            return marks
        # From the first mark on that is a letter, one after the other.
        first = int(wrong[0])
        turns, inside, closed = marks[:first].tolist(), False, -2
        if first:
            closed = turns[-1]
        elif self._closed:
            closed = -1
        for mark, start in zip(marks[first:].tolist(), starts[first:].tolist(), strict=True):
            if inside:
                inside, closed = False, mark
            elif start or mark == closed + 1:
                inside = True
            else:
                continue
            turns.append(mark)
        return np.array(turns, np.int64)

    def _starts(self, content: bytes, data: Any, marks: Any) -> Any:
        """Whether each mark is the first letter of a field."""
        before = data[marks - 1]
        starts = (before == 10) | (before == 13)
        if len(self._delimiter) == 1:
            starts |= before == self._delimiter[0]
        else:
            many = range(len(marks))
            starts |= [content.endswith(self._delimiter, 0, int(marks[k])) for k in many]
        for number in range(min(len(marks), 8)):  # those whose field begins in the chunk before
            mark = int(marks[number])
            if mark < 8:
                head = self._tail + content[:mark]
                starts[number] = head in (b"", _BOM) or head.endswith(
                    (self._delimiter, b"\n", b"\r")
                )
        return starts


def fields_of(text: str, delimiter: str) -> list[str]:
    """The fields of a row. Raises SampleDataError."""
    if '"' not in text and "\r" not in text:
        return text.split(delimiter)
    try:
        # A second row is found only where the first one ends.
        with _limit_lock:  # the limit is that of the process
            limit = csv.field_size_limit()
            if len(text) > limit:
                csv.field_size_limit(len(text))
            try:
                rows = list(csv.reader([text, ""], delimiter=delimiter))
            finally:
                if len(text) > limit:
                    csv.field_size_limit(limit)
    except csv.Error as error:
        raise op.SampleDataError(f"a row that is no CSV: {error}") from None
    if len(rows) < 2:
        raise op.SampleDataError("a row that is no CSV: quoted text does not end")
    return rows[0]
