"""The headers of FITS files: where the image of each unit lies, and what its values are.

A file is units (HDUs), each a header and data, both filled up to blocks of 2880 bytes. A header is
cards of 80 characters, `KEYWORD = value / comment`, up to the card END. (FITS standard 4.0.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.storage.handles import Handle, pread

_BLOCK, _CARD = 2880, 80
_MOST_BLOCKS = 1 << 12
"""Of one header: 147,456 cards."""
_STORED = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
_SHIFTED = {(8, -128): "i1", (16, 1 << 15): "u2", (32, 1 << 31): "u4", (64, 1 << 63): "u8"}
"""Types that are stored as others: by BITPIX and BZERO, with BSCALE 1."""


class HeaderUnit(NamedTuple):
    """An HDU. stored: the type of its values in the file; dtype: of what they mean; problem: why it
    is no image that can be read, "" if it is one."""

    begin: int
    shape: tuple[int, ...]
    stored: np.dtype[np.generic]
    dtype: np.dtype[np.generic]
    problem: str

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return math.prod(self.shape) * self.stored.itemsize


def units_of(handle: Handle, size: int, last: int) -> list[HeaderUnit]:
    """The units of a file, up to number `last`, counted from 1. Raises SampleDataError."""
    found: list[HeaderUnit] = []
    place = 0
    while place < size and len(found) < last:
        cards, begin = _cards(handle, place, size, len(found) + 1)
        unit, data = _unit(cards, begin, len(found) + 1)
        found.append(unit)
        if begin + data > size:
            raise _damaged(
                f"unit {len(found)} ends at byte {begin + data}, the file at byte {size}"
            )
        place = begin + -(-data // _BLOCK) * _BLOCK
    return found


def _damaged(what: str) -> op.SampleDataError:
    return op.SampleDataError(f"a damaged FITS file: {what}")


def _cards(handle: Handle, place: int, size: int, number: int) -> tuple[dict[str, str], int]:
    """The values of a header by their keywords, and where its data begin."""
    cards: dict[str, str] = {}
    for block in range(_MOST_BLOCKS):
        begin = place + block * _BLOCK
        content = pread(handle, _BLOCK, begin)
        if len(content) < _BLOCK:
            raise _damaged(f"the header of unit {number} ends early")
        first = b"SIMPLE  =" if number == 1 else b"XTENSION="
        if block == 0 and not content.startswith(first):
            raise _damaged(f"unit {number} does not begin with {first[:8].decode().strip()}")
        for offset in range(0, _BLOCK, _CARD):
            card = content[offset : offset + _CARD].decode("latin1")
            keyword = card[:8].rstrip()
            if keyword == "END":
                return cards, begin + _BLOCK
            if card[8:10] == "= ":
                cards.setdefault(keyword, card[10:])
    raise _damaged(f"the header of unit {number} does not end")


def _integer(cards: dict[str, str], name: str, number: int, default: int | None = None) -> int:
    value = cards.get(name, "" if default is None else str(default)).partition("/")[0].strip()
    if not value[value[:1] in ("+", "-") :].isdecimal() or len(value) > 19:
        raise _damaged(f"{name} of unit {number} is {value!r} and no integer")
    return int(value)


def _number(cards: dict[str, str], name: str, number: int, default: float) -> float:
    value = cards.get(name, str(default)).partition("/")[0].strip()
    try:
        return float(value.replace("D", "E"))
    except ValueError:
        raise _damaged(f"{name} of unit {number} is {value!r} and no number") from None


def _unit(cards: dict[str, str], begin: int, number: int) -> tuple[HeaderUnit, int]:
    """A unit, and how many bytes of data it has."""
    bits = _integer(cards, "BITPIX", number)
    axes = _integer(cards, "NAXIS", number)
    if bits not in _STORED:
        raise _damaged(f"BITPIX of unit {number} is {bits}")
    if not 0 <= axes <= 999:
        raise _damaged(f"NAXIS of unit {number} is {axes}")
    shape = tuple(_integer(cards, f"NAXIS{axis}", number) for axis in range(axes, 0, -1))
    if min(shape, default=0) < 0:
        raise _damaged(f"unit {number} has the shape {shape}")
    count = math.prod(shape) if shape else 0
    extra = _integer(cards, "PCOUNT", number, 0)
    groups = _integer(cards, "GCOUNT", number, 1)
    data = abs(bits) // 8 * groups * (extra + count)
    if extra < 0 or groups < 0 or data >= 1 << 62:
        raise _damaged(f"unit {number} has impossible sizes")
    kind = cards.get("XTENSION", "'IMAGE   '").split("'")[1:2]
    problem = ""
    if [one.strip() for one in kind] != ["IMAGE"]:
        problem = "only images can be read, and no tables"
        if cards.get("ZIMAGE", "").partition("/")[0].strip() == "T":
            problem = "compressed images are not read"
    elif not shape:
        problem = "it has no axes"
    elif (extra, groups) != (0, 1) or cards.get("GROUPS", "").strip().startswith("T"):
        problem = "groups of arrays are not read"
    stored = np.dtype(_STORED[bits])
    dtype = stored.newbyteorder("=")
    zero = _number(cards, "BZERO", number, 0.0)
    if _number(cards, "BSCALE", number, 1.0) == 1 and (bits, zero) in _SHIFTED:
        dtype = np.dtype(_SHIFTED[bits, int(zero)])
    return HeaderUnit(begin, shape, stored, dtype, problem), data
