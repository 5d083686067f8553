"""Huffman codes of JPEG, as tables by the bits that come next. (ITU-T T.81, annexes C and F.)

An entry of a table says how many bits a code and the value behind it have (`bits_of`), by how many
coefficients it goes on (`advance_of`), whether it ends the block (`LAST`), and how many bits the
value and the code have alone (`SIZE`, `CODE`); it is 0 for what is no code, and for what no encoder
writes. The tables of a code lie behind one another in one array.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.types.arrays import Array, U32Vector

__all__ = [
    "ADVANCE",
    "ALL_BITS",
    "CODE",
    "LAST",
    "SEVERAL",
    "SEVERAL_BITS",
    "SHORT",
    "SHORT_BITS",
    "SIZE",
    "TABLE",
    "Symbols",
    "code_tables",
]

ADVANCE: Final = 8
LAST: Final = 16
SIZE: Final = 20
CODE: Final = 24

ALL_BITS: Final = 16
SHORT_BITS: Final = 9
SEVERAL_BITS: Final = 13
SHORT: Final = 1 << ALL_BITS
"""Where the table by the next `SHORT_BITS` begins: it stays in the nearest cache."""
SEVERAL: Final = SHORT + (1 << SHORT_BITS)
"""Where the table by the next `SEVERAL_BITS` begins, whose entries are of as many AC codes as these
bits hold."""
TABLE: Final = SEVERAL + (1 << SEVERAL_BITS)
"""Elements of all of them."""

_MOST_DC: Final = 11
_MOST_AC: Final = 10
"""Bits of values, in files of 8 bits."""
_MOST_BITS: Final = 15
"""Of values, in any file."""
_SIXTEEN_ZEROS: Final = 0xF0


Symbols = tuple[bytes, bytes]
"""How many codes there are of each length from 1 to 16 bits, and what they stand for."""


@functools.lru_cache(maxsize=8)
def code_tables(dc: tuple[Symbols, ...], ac: tuple[Symbols, ...]) -> Array | None:
    """The tables of so many kinds of blocks behind one another: DC of one kind, AC of it, and so
    on; None if there are no such codes. Most files have the same ones."""
    tables: list[Array] = []
    for of_dc, of_ac in zip(dc, ac, strict=True):
        means, rest = _dc_table(*of_dc), _ac_table(*of_ac)
        if means is None or rest is None:
            return None
        tables += [means, rest]
    return np.concatenate(tables)


def _dc_table(counts: bytes, symbols: bytes) -> Array | None:
    size = np.frombuffer(symbols, np.uint8).astype(np.int64)
    if (size > _MOST_BITS).any():
        return None
    return _table(counts, size, np.ones_like(size), size <= _MOST_DC, np.zeros_like(size))


def _ac_table(counts: bytes, symbols: bytes) -> Array | None:
    symbol = np.frombuffer(symbols, np.uint8).astype(np.int64)
    size, run = symbol & 15, symbol >> 4
    written = (size > 0) & (size <= _MOST_AC) | (symbol == 0) | (symbol == _SIXTEEN_ZEROS)
    table = _table(counts, size, run + 1, written, symbol == 0)
    if table is not None:
        find_several(table)
    return table


def _table(counts: bytes, size: Any, advance: Any, written: Any, ends: Any) -> Array | None:
    lengths = np.repeat(np.arange(1, 17), np.frombuffer(counts, np.uint8))
    spans = 1 << (ALL_BITS - lengths)  # how many numbers of 16 bits begin with a code
    if not len(size) or spans.sum() >= SHORT:  # none has ones alone
        return None
    bits = lengths + size
    entries = bits | advance << ADVANCE | ends << LAST | size << SIZE | lengths << CODE
    entries[~written] = 0
    table = np.zeros(TABLE, np.uint32)
    # Codes of fewer bits are there for each of what may follow them.
    table[: spans.sum()] = np.repeat(entries, spans)
    step = 1 << (ALL_BITS - SHORT_BITS)
    short = table[:SHORT:step]
    table[SHORT:SEVERAL] = np.where(short >> CODE <= SHORT_BITS, short, 0)
    return table


@jit
def find_several(table: U32Vector) -> None:
    """Fill in the entries of several codes."""
    for index in range(1 << SEVERAL_BITS):
        bits = advance = last = np.int64(0)
        while bits < SEVERAL_BITS and last == 0:
            rest = (index << bits) & ((1 << SEVERAL_BITS) - 1)
            entry = np.int64(table[rest << (ALL_BITS - SEVERAL_BITS)])
            if entry == 0 or bits + (entry >> CODE) > SEVERAL_BITS:
                break
            bits += entry & 255
            advance += entry >> ADVANCE & 255
            last = entry >> LAST & 1
        table[SEVERAL + index] = bits | advance << ADVANCE | last << LAST
