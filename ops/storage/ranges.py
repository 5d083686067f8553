"""Chooses the requests for ranges of an object: near ranges are joined, large ones are split."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final, NamedTuple

from gradiva.eager.types.arrays import Array

LARGEST: Final = 8 << 20
"""The most bytes of a request; larger ranges are split into several."""
BLOCK: Final = 4 << 20
"""The bytes of a block of the cache on disk."""
NEAR: Final = 1 << 20
"""A gap of this many bytes between two ranges is cheaper to read and drop than a second request."""
_ALWAYS: Final = 1 << 16
"""The same, if little else of the object is needed."""

Range = tuple[int, int]
"""The first byte, and the one after the last."""


Data = bytes | memoryview
"""Bytes as they were received."""

Content = list[memoryview]
"""Bytes in pieces, in order."""


class Want(NamedTuple):
    """A range of an object; the whole object if there is no end."""

    url: str
    begin: int = 0
    end: int | None = None


def joined(ranges: Iterable[Range], near: int = NEAR) -> list[Range]:
    """The ranges, with near ones joined; of a large joined range at least half is needed."""
    found: list[Range] = []
    useful = 0
    for begin, end in sorted(one for one in ranges if one[0] < one[1]):
        if found:
            first, last = found[-1]
            gain = max(0, end - max(begin, last))
            gap = begin - last
            if gap <= _ALWAYS or (gap <= near and end - first <= 2 * (useful + gain)):
                found[-1] = first, max(last, end)
                useful += gain
                continue
        found.append((begin, end))
        useful = end - begin
    return found


def split(ranges: Iterable[Range], largest: int = LARGEST) -> list[Range]:
    """The ranges split into parts of nearly equal size, none of them too large."""
    found: list[Range] = []
    for begin, end in ranges:
        count = max(1, -(-(end - begin) // largest))
        bounds = [begin + (end - begin) * part // count for part in range(count + 1)]
        found += itertools.pairwise(bounds)
    return found


def aligned(ranges: Iterable[Range], size: int, block: int = BLOCK) -> list[Range]:
    """The blocks that contain the ranges, in order; the last block ends with the object."""
    numbers: dict[int, None] = {}
    for begin, end in ranges:
        numbers.update(dict.fromkeys(range(begin // block, -(-end // block))))
    return [(number * block, min((number + 1) * block, size)) for number in sorted(numbers)]


def fill(target: Array, content: Content) -> None:
    """Copy pieces into an array of bytes that is as long as they are together."""
    # A view of no bytes cannot be cast; and into `b""` not even no bytes can be stored.
    view = memoryview(target.data).cast("B") if target.size else memoryview(bytearray())
    place = 0
    for piece in content:
        view[place : place + len(piece)] = piece
        place += len(piece)
    assert place == len(view)
