"""LZ4 blocks: the kernel that makes bytes of them."""

from __future__ import annotations

from typing import Final

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import U8Vector

CUT: Final = -1
FAR: Final = -2
LARGE: Final = -3
"""What is wrong with a block: it ends too early; it repeats what was before its beginning; it has
more bytes than there is room for."""

GROWTH: Final = 255
"""No block has more bytes than it is long, times this."""


@op.jit
def _longer(block: U8Vector, at: int, length: int) -> tuple[int, int]:
    """Add the bytes from `at` on to a length, to the first that is not 255. Returns the length and
    the place behind them; CUT for the place where the block ends before."""
    more = 255
    while more == 255:
        if at >= block.size:
            return length, CUT
        more = int(block[at])
        at += 1
        length += more
    return length, at


@op.jit
def inflate_block(block: U8Vector, out: U8Vector) -> int:
    """Fill `out` with the bytes of a block; both are uint8, 1-D. Returns how many there are, or
    what is wrong.

    A block is a chain of sequences: a byte with two lengths of four bits, bytes as they are, and
    how far back (two bytes) a run begins that is repeated, of four bytes and more. A length of 15
    goes on in the bytes that follow, to the first that is not 255. The last sequence repeats
    nothing.
    """
    size, room = block.size, out.size
    at, made = 0, 0
    while at < size:
        token = int(block[at])
        at += 1
        count = token >> 4
        if count == 15:
            count, at = _longer(block, at, count)
            if at == CUT:
                return CUT
        if count > size - at:
            return CUT
        if count > room - made:
            return LARGE
        for k in range(count):
            out[made + k] = block[at + k]
        at += count
        made += count
        if at == size:
            return made
        if size - at < 2:
            return CUT
        back = int(block[at]) | int(block[at + 1]) << 8
        at += 2
        if back == 0 or back > made:
            return FAR
        count = (token & 15) + 4
        if count == 19:
            count, at = _longer(block, at, count)
            if at == CUT:
                return CUT
        if count > room - made:
            return LARGE
        for k in range(made, made + count):
            out[k] = out[k - back]
        made += count
    return CUT
