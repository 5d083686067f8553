"""Which ranges of an object are asked for at once: near ones joined, large ones split."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final, NamedTuple

from gradiva.eager.types.arrays import Array

__all__ = [
    "BLOCK",
    "LARGEST",
    "NEAR",
    "Content",
    "Data",
    "Range",
    "Want",
    "aligned",
    "fill",
    "joined",
    "split",
]

LARGEST: Final = 8 << 20
"""Bytes of one request; more are several requests at once."""
BLOCK: Final = 4 << 20
"""Bytes of a block of the cache on disk."""
NEAR: Final = 1 << 20
"""Bytes between two ranges that are cheaper read and dropped than asked for twice."""
_ALWAYS: Final = 1 << 16
"""The same, however little else is wanted there."""

Range = tuple[int, int]
"""First byte, and the one behind the last."""


Data = bytes | memoryview
"""Bytes as they came."""

Content = list[memoryview]
"""Bytes in pieces, one after the other."""


class Want(NamedTuple):
    """Bytes of an object; all of it, without an end."""

    url: str
    begin: int = 0
    end: int | None = None


def joined(ranges: Iterable[Range], near: int = NEAR) -> list[Range]:
    """The ranges, those that lie near each other as one; of a large one at least half is wanted."""
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
    """The ranges in parts of nearly one size, none of them too large."""
    found: list[Range] = []
    for begin, end in ranges:
        count = max(1, -(-(end - begin) // largest))
        bounds = [begin + (end - begin) * part // count for part in range(count + 1)]
        found += itertools.pairwise(bounds)
    return found


def aligned(ranges: Iterable[Range], size: int, block: int = BLOCK) -> list[Range]:
    """The blocks that hold the ranges, in their order; the last block ends with the object."""
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
