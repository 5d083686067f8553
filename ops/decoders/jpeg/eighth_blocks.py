"""The blocks of a JPEG, of which only means are wanted, and what else chroma needs of them. Codes
are skipped: as many at a time as the next 13 bits hold. `eighth` says what for.

All of it is checked as it is read, and whatever is odd ends it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager.jit.jit import always_inline, jit
from gradiva.eager.simd.intrinsics import local_words, put_word, without_refcount, word_at
from gradiva.eager.types.arrays import Array, I64Vector, U8Table, U8Vector, U32Vector

from .eighth_codes import (
    ADVANCE,
    ALL_BITS,
    CODE,
    LAST,
    SEVERAL,
    SEVERAL_BITS,
    SHORT,
    SHORT_BITS,
    SIZE,
    TABLE,
)
from .segments import END

BEYOND: Final = 4096
"""Bytes of 0 behind the data: what is read of one unit of a scan past its end, at most."""
NONE, SKIPPED, MEANS, PAIRS = range(4)
"""What is read of chroma: there is none, nothing, a pixel of each block, 2 x 2 of each."""

_BYTE: Final = np.uint32(0xFF)
_ONE: Final = np.uint64(1)
_THREE: Final = np.uint64(3)
_EIGHT: Final = np.uint64(8)
_ONES: Final = np.uint64(0x0101010101010101)
_HIGHS: Final = np.uint64(0x8080808080808080)
_WHOLE: Final = np.uint64(64)
_TOP: Final = np.uint64(63)
_LEAST: Final = np.uint64(56)
"""Bits that are there after more were taken in: those of two codes with their values, 27 each."""
_BY_ALL: Final = np.uint64(64 - ALL_BITS)
_BY_SHORT: Final = np.uint64(64 - SHORT_BITS)
_BY_SEVERAL: Final = np.uint64(64 - SEVERAL_BITS)

_MOST: Final = 2048
"""Of a coefficient, either way: blocks of pixels of 8 bits have none beyond. libjpeg's results for
others depend on the machine."""
_FRACTION: Final = 13
_HALVES: Final = tuple(
    round(
        2**_FRACTION
        * math.sqrt(2)
        * sum(math.cos((2 * x + 1) * k * math.pi / 16) for x in range(4))
    )
    for k in (1, 3, 5, 7)
)
"""How much cosines of odd frequency add to the first four of eight pixels; to the others as much
less. Those of even frequency add nothing."""


def _order() -> Array:
    """The place, row by row, of the coefficients of a block in the order of the file."""
    places = sorted(
        ((row, column) for row in range(8) for column in range(8)),
        key=lambda at: (sum(at), at[0] if sum(at) % 2 else at[1]),
    )
    return np.array([8 * row + column for row, column in places])


def _odd_places() -> Array:
    """The same, with -1 for those that pairs of pixels do not need."""
    found = _order()
    needed = [all(k == 0 or k % 2 for k in divmod(place, 8)) for place in found.tolist()]
    return np.where(needed, found, -1)


PLACES: Final = _odd_places()


@jit
def clean_data(data: U8Vector, begin: int, stream: U8Vector, ends: I64Vector) -> bool:
    """Move the image data to `stream`, without the zeros that follow bytes of 255 and without
    restart markers: `ends` is where these were, and the end. Returns whether there are as many as
    expected, in their order, and the marker that ends an image behind them."""
    data, stream = without_refcount(data), without_refcount(stream)
    size, found = np.uint64(data.size), 0
    position, made = np.uint64(begin), np.uint64(0)
    while position + _ONE < size:
        last = position + _ONE
        if position + _EIGHT <= size:
            word = word_at(data, position)
            # Of the complement, a byte is 0 where that of the word is 255.
            if ((~word - _ONES) & word & _HIGHS) == 0:
                put_word(stream, made, word)
                position += _EIGHT
                made += _EIGHT
                continue
            last = min(position + _EIGHT, size - _ONE)
        while position < last:
            value = data[position]
            position += _ONE
            stream[made] = value
            made += _ONE
            if value != 255:
                continue
            marker = np.int64(data[position])
            position += _ONE
            if marker == 0:
                continue
            made -= _ONE
            if found == ends.size:
                return False
            ends[found] = made
            if marker == END:
                for k in range(BEYOND):
                    stream[made + np.uint64(k)] = 0
                return found + 1 == ends.size
            if marker != 0xD0 + (found & 7):
                return False
            found += 1
    return False


@jit
def _take_in(
    stream: U8Vector, bits: np.uint64, have: np.uint64, at: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Fill up the bits that come next, the first of them on top."""
    return bits | (word_at(stream, at) >> have), have | _LEAST, at + ((_TOP - have) >> _THREE)


@jit
def _entry(codes: U32Vector, base: np.uint64, bits: np.uint64) -> np.uint32:
    """That of the next code."""
    found: np.uint32 = codes[base + np.uint64(SHORT) + (bits >> _BY_SHORT)]
    return found if found != 0 else codes[base + (bits >> _BY_ALL)]


@jit
def _value(bits: np.uint64, entry: np.uint32) -> np.int64:
    """The number behind a code."""
    behind = bits << np.uint64(entry >> np.uint32(CODE))
    size = np.uint64((entry >> np.uint32(SIZE)) & np.uint32(15))
    below = ((_ONE << size) - _ONE) * (_ONE - (behind >> _TOP))
    return np.int64((behind >> _ONE) >> (_TOP - size)) - np.int64(below)


@always_inline
def _skip(
    stream: U8Vector,
    codes: U32Vector,
    base: np.uint64,
    bits: np.uint64,
    have: np.uint64,
    at: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64, bool]:
    """Pass over a block behind its first coefficient. Returns bits, how many there are, where more
    are, and whether all of it were codes."""
    advance, position = np.uint32(ADVANCE), _ONE
    while position < _WHOLE:
        bits, have, at = _take_in(stream, bits, have, at)
        for _ in range(2):
            entry = codes[base + np.uint64(SEVERAL) + (bits >> _BY_SEVERAL)]
            behind = position + np.uint64((entry >> advance) & _BYTE)
            if entry == 0 or behind > _WHOLE:
                entry = codes[base + (bits >> _BY_ALL)]
                behind = position + np.uint64((entry >> advance) & _BYTE)
                if entry == 0 or behind > _WHOLE:
                    return bits, have, at, False
            count = np.uint64(entry & _BYTE)
            bits, have, position = bits << count, have - count, behind
            if (entry >> np.uint32(LAST)) & np.uint32(1):
                position = _WHOLE
            if position == _WHOLE:
                break
    return bits, have, at, True


@always_inline
def _read(
    stream: U8Vector,
    codes: U32Vector,
    base: np.uint64,
    steps: I64Vector,
    places: I64Vector,
    block: I64Vector,
    bits: np.uint64,
    have: np.uint64,
    at: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64, bool]:
    """The same, with the coefficients that count put into `block`, where they were not 0."""
    position = _ONE
    while position < _WHOLE:
        bits, have, at = _take_in(stream, bits, have, at)
        entry = _entry(codes, base, bits)
        position += np.uint64((entry >> np.uint32(ADVANCE)) & _BYTE)
        if entry == 0 or position > _WHOLE:
            return bits, have, at, False
        last = np.int64(position) - 1
        if (entry >> np.uint32(SIZE)) & np.uint32(15) and places[last] >= 0:
            value = _value(bits, entry) * steps[64 + last]
            if value < -_MOST or value > _MOST:
                return bits, have, at, False
            block[places[last]] = value
        count = np.uint64(entry & _BYTE)
        bits, have = bits << count, have - count
        if (entry >> np.uint32(LAST)) & np.uint32(1):
            break
    return bits, have, at, True


@jit
def read_blocks(
    stream: U8Vector,
    ends: I64Vector,
    restart: int,
    across: int,
    down: int,
    kind: int,
    codes: U32Vector,
    steps: I64Vector,
    places: I64Vector,
    block: I64Vector,
    luma: U8Table,
    blue: U8Table,
    red: U8Table,
) -> bool:
    """Fill the planes. steps: of luma and of chroma; block: room for 64 coefficients, all 0.
    Returns whether all was as it should be."""
    stream, codes, places = (
        without_refcount(stream),
        without_refcount(codes),
        without_refcount(places),
    )
    steps, luma = without_refcount(steps), without_refcount(luma)
    blue, red = without_refcount(blue), without_refcount(red)
    block = without_refcount(block)
    means = local_words()
    means[0] = means[1] = means[2] = 0
    rows, columns = luma.shape[0] // down, luma.shape[1] // across
    count = across * down
    blocks = count + (0 if kind == NONE else 2)
    bits, have, at = np.uint64(0), np.uint64(0), np.uint64(0)
    segment, left = 0, restart
    for row in range(rows):
        for column in range(columns):
            here = np.int64(at - (have >> _THREE))
            if left == 0:
                if here != ends[segment]:
                    return False
                bits, have, at = np.uint64(0), np.uint64(0), np.uint64(here)
                segment, left = segment + 1, restart
                means[0] = means[1] = means[2] = 0
            left -= 1
            if here > ends[segment]:
                return False
            y = x = 0
            for number in range(blocks):
                of_chroma = number >= count
                component = 1 + number - count if of_chroma else 0
                base = np.uint64(2 * TABLE if of_chroma else 0)
                bits, have, at = _take_in(stream, bits, have, at)
                entry = _entry(codes, base, bits)
                means[component] += _value(bits, entry)
                size = np.uint64(entry & _BYTE)
                bits, have = bits << size, have - size
                mean = means[component] * steps[64 if of_chroma else 0]
                if entry == 0 or mean < -_MOST or mean > _MOST:
                    return False
                base += np.uint64(TABLE)
                if of_chroma and kind == PAIRS:
                    block[0] = mean
                    bits, have, at, fine = _read(
                        stream, codes, base, steps, places, block, bits, have, at
                    )
                    plane = blue if component == 1 else red
                    if not fine or not _transform(block, plane, 2 * row, 2 * column):
                        return False
                    continue
                bits, have, at, fine = _skip(stream, codes, base, bits, have, at)
                if not fine:
                    return False
                pixel = min(max(((mean + 4) >> 3) + 128, 0), 255)
                if not of_chroma:
                    luma[row * down + y, column * across + x] = pixel
                    x += 1
                    if x == across:
                        x, y = 0, y + 1
                elif kind == MEANS:
                    plane = blue if component == 1 else red
                    plane[row, column] = pixel
    return bool(np.int64(at - (have >> _THREE)) == ends[segment])


@always_inline
def _transform(block: I64Vector, plane: U8Table, row: int, column: int) -> bool:
    """The 2 x 2 pixels of a block, which is made empty: first each column that counts, then both
    rows, with two more bits between. Returns whether all of them can be pixels."""
    sums = local_words()
    for x in range(8):
        if x > 0 and x % 2 == 0:
            continue
        odd = np.int64(0)
        for k in range(4):
            odd += _HALVES[k] * block[8 * (2 * k + 1) + x]
            block[8 * (2 * k + 1) + x] = 0
        even = block[x] << (_FRACTION + 2)
        block[x] = 0
        half = 1 << (_FRACTION - 1)
        sums[x], sums[8 + x] = (even + odd + half) >> _FRACTION, (even - odd + half) >> _FRACTION
    shift = _FRACTION + 2 + 3 + 2
    for y in range(2):
        odd = np.int64(0)
        for k in range(4):
            odd += _HALVES[k] * sums[8 * y + 2 * k + 1]
        even = (sums[8 * y] << (_FRACTION + 2)) + (1 << (shift - 1))
        for x in range(2):
            pixel = (even - odd if x else even + odd) >> shift
            if pixel < -512 or pixel > 511:
                return False
            plane[row + y, column + x] = min(max(pixel + 128, 0), 255)
    return True
