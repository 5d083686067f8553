"""The headers of tar archives that most programs write, walked by a compiled kernel: regular files
and folders, names that fit into a header, and times in extended headers. Whatever else there is in
an archive, and whatever is wrong with it, is left to `tarfile`.

A header is a block of 512 bytes: name at 0 (100 bytes), size in octal at 124 (12), checksum at 148
(8), type at 156, "ustar" at 257, what stands in front of the name at 345 (155). (POSIX, pax.)
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.types.arrays import I64Table, I64Vector, U8Vector
from gradiva.ops.readers.core.scan_cache import Scan

_MEMBERS: Final = 4096
"""Members that one call of the kernel notes."""
_LONGEST: Final = 257
"""Bytes of a name, with the slash in it and a zero."""
_EXTENDED: Final = 4096
"""Bytes of an extended header that the kernel reads."""
_HARMLESS: Final = np.frombuffer(b"mtime\0atime\0ctime\0uid\0gid\0uname\0gname\0", np.uint8)
"""Keys of extended headers that say nothing of names and places."""
_FULL, _END, _UNKNOWN = 0, 1, 2
_background = BackgroundKernel()


@op.jit
def _fetch(calls: I64Vector, handle: int, target: U8Vector, size: int, place: int) -> bool:
    """Read all of these bytes, or say that it cannot be done."""
    done = 0
    while done < size:
        count = call_c(calls[0], handle, target.ctypes.data + done, size - done, place + done)
        if count <= 0:
            return False
        done += count
    return True


@op.jit
def _octal(block: U8Vector, first: int, last: int) -> int:
    """The number in a field; -1 for another notation."""
    place = first
    value: Any = 0
    while place < last and block[place] == 32:
        place += 1
    while place < last and 48 <= block[place] < 56:
        value = value * 8 + np.int64(block[place]) - 48
        place += 1
    while place < last and block[place] == 32:
        place += 1
    return value if place == last or block[place] == 0 else -1


@op.jit
def _sound(block: U8Vector) -> bool:
    """Whether the checksum of a header is right, what it is known by, and the numbers in it."""
    for first, last in ((100, 108), (108, 116), (116, 124), (136, 148), (329, 337), (337, 345)):
        if _octal(block, first, last) < 0:
            return False
    total: Any = 8 * 32
    for index in range(512):
        if not 148 <= index < 156:
            total += np.int64(block[index])
    known = block[257] == 117 and block[258] == 115 and block[259] == 116
    known = known and block[260] == 97 and block[261] == 114
    return bool(known and _octal(block, 148, 156) == total)


@op.jit
def _harmless(extended: U8Vector, size: int, keys: U8Vector) -> bool:
    """Whether all records `LENGTH KEY=VALUE` of an extended header have such keys."""
    place = 0
    while place < size:
        length: Any = 0
        begin = place
        while begin < size and 48 <= extended[begin] < 58 and length < 10000:
            length = length * 10 + np.int64(extended[begin]) - 48
            begin += 1
        if begin == place or begin >= size or extended[begin] != 32:
            return False
        if length < begin - place + 3 or place + length > size:
            return False
        begin += 1
        end = begin
        while end < place + length and extended[end] != 61:
            end += 1
        first, found = 0, False
        for last in range(keys.size):
            if keys[last] == 0:
                if last - first == end - begin:
                    same = True
                    for index in range(last - first):
                        same = same and keys[first + index] == extended[begin + index]
                    found = found or same
                first = last + 1
        if not found or extended[place + length - 1] != 10:
            return False
        place += length
    return True


@op.jit
def _add_name(block: U8Vector, names: U8Vector, letters: int) -> int:
    """Write the name of a member, its prefix and a slash before it, and a zero; returns the place
    behind it. letters: how many bytes of `names` are in use."""
    for first, last in ((345, 500), (0, 100)):
        for index in range(first, last):
            if block[index] == 0:
                break
            names[letters] = block[index]
            letters += 1
        if first and block[first]:
            names[letters] = 47
            letters += 1
    names[letters] = 0
    return letters + 1


@op.jit
def _walk(
    calls: I64Vector,
    handle: int,
    size: int,
    block: U8Vector,
    extended: U8Vector,
    keys: U8Vector,
    places: I64Table,
    names: U8Vector,
    state: I64Vector,
) -> None:
    """Note members from place `state[0]` on. state: next place; members and bytes of names that
    were noted; what it ended for."""
    place, count, letters, after_extended = state[0], 0, 0, False
    state[3] = _UNKNOWN
    while True:
        if place == size and place > 0 and not after_extended:
            state[3] = _END
            break
        if place + 512 > size or not _fetch(calls, handle, block, 512, place):
            break
        if not block.any():
            if not after_extended and place > 0:
                state[3] = _END
            break
        length = _octal(block, 124, 136)
        kind = block[156]
        if not _sound(block) or length < 0 or length > size:
            break
        begin = place + 512
        after = begin + (length + 511) // 512 * 512
        if kind == 120:  # x
            if length > _EXTENDED or after_extended or begin + length > size:
                break
            if not _fetch(calls, handle, extended, length, begin):
                break
            if not _harmless(extended, length, keys):
                break
            place, after_extended = after, True
            continue
        if kind == 53:  # a folder
            place, after_extended = begin, False
            continue
        if kind != 48 or begin + length > size:
            break
        if count == _MEMBERS:
            state[3] = _FULL
            break
        letters = _add_name(block, names, letters)
        places[count, 0], places[count, 1] = begin, length
        count += 1
        place, after_extended = after, False
    state[0], state[1], state[2] = place, count, letters


@functools.cache
def _calls() -> op.Int64Array | None:
    return addresses("pread")


def plain_scan(handle: int, size: int) -> tuple[Scan, int] | None:
    """Offset and size of each file and their names, and where the archive ends; None for an archive
    that has more than this file knows."""
    calls = _calls() if _background.is_worth_compiling(size // 1024) else None
    if calls is None:
        return None
    block, extended = np.empty(512, np.uint8), np.empty(_EXTENDED, np.uint8)
    state = np.zeros(4, np.int64)
    found: list[np.ndarray[Any, Any]] = []
    letters: list[bytes] = []
    while True:
        places, names = (
            np.empty((_MEMBERS, 2), np.int64),
            np.empty(_MEMBERS * _LONGEST + 1, np.uint8),
        )
        _walk(calls, handle, size, block, extended, _HARMLESS, places, names, state)
        place, count, length, ended = state.tolist()
        if ended == _UNKNOWN:
            return None
        found.append(places[:count])
        letters.append(names[:length].tobytes())
        if ended == _END:
            return (np.concatenate(found), b"".join(letters)[:-1]), place
