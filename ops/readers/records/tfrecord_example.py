"""The features of `tf.train.Example` messages, found in the bytes of records.

The messages (protobuf's wire format; field numbers in front): Example {1: Features}; Features {1:
repeated entry {1: key, 2: Feature}}; Feature {1: BytesList, 2: FloatList, 3: Int64List}, the last
of which counts; a list {1: repeated value}, packed or not. Of entries with one key the last counts.

Places are numbers of bytes in the slab of a batch. What is known of a feature of a sample is a row
of numbers, whose columns have the names below. A batch is looked at in one call: to come back to
the interpreter, while other threads decode, takes longer than to look at small records.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import (
    I64Table,
    I64Vector,
    I64Volume,
    Int,
    U8Vector,
    U32Vector,
    U64Vector,
)

BYTES: Final = 1
FLOATS: Final = 2
INTEGERS: Final = 3

FIRST: Final = 0
"""Begin and end (the column after it) of the first value, if values are bytes."""
KIND: Final = 2
"""Of the values, which are to be used; 0 for none, or minus the kind of those that do not fit."""
COUNT: Final = 3
"""The number of values."""
VERDICT: Final = 4
"""One of the five words below."""
BEGIN: Final = 5
END: Final = 6
"""Begin and end of the Feature message."""
COLUMNS: Final = 7

ABSENT: Final = 0
COMPLETE: Final = 1
SHORT: Final = 2
"""Fewer values than the shape holds, and a default for the others."""
MISSING: Final = 3
"""Fewer values than the shape holds, and no default; or none at all."""
MISFIT: Final = 4
"""Of another type, or of a number that does not fit the shape."""


@op.jit
def _varint(data: U8Vector, place: Int, end: Int) -> tuple[np.uint64, Int]:
    """A number (the low 64 bits) and the place behind it; -1 where there is none."""
    value = np.uint64(0)
    for index in range(10):
        if place + index >= end:
            return value, -1
        byte = data[place + index]
        value |= np.uint64(byte & 127) << np.uint64(7 * index)
        if byte < 128:
            return value, place + index + 1
    return value, -1


@op.jit
def _field(data: U8Vector, place: Int, end: Int) -> tuple[Int, Int, Int, Int]:
    """Number, wire type, begin and end of the next field's value; number -1 for none."""
    key, begin = _varint(data, place, end)
    if begin < 0 or key >> np.uint64(3) > np.uint64(1 << 29) or key < np.uint64(8):
        return -1, 0, 0, 0
    number, wire = np.int64(key >> np.uint64(3)), np.int64(key & np.uint64(7))
    after: Int = np.int64(-1)
    if wire == 0:
        after = _varint(data, begin, end)[1]
    elif wire == 1:
        after = begin + 8
    elif wire == 5:
        after = begin + 4
    elif wire == 2:
        size, begin = _varint(data, begin, end)
        if begin >= 0 and size <= np.uint64(end - begin):
            after = begin + np.int64(size)
    if after < 0 or after > end:
        return -1, 0, 0, 0
    return number, wire, np.int64(begin), np.int64(after)


@op.jit
def _entry(
    data: U8Vector, place: Int, end: Int, names: U8Vector, ends: I64Vector, rows: I64Table
) -> Int:
    """Note the Feature of an entry if its key is wanted. Returns the place where it is broken."""
    key_begin: Int
    key_end: Int
    begin: Int
    after: Int
    key_begin = key_end = begin = after = np.int64(0)
    while place < end:
        number, wire, first, last = _field(data, place, end)
        if number < 0:
            return place + 1
        if wire == 2 and number == 1:
            key_begin, key_end = first, last
        elif wire == 2 and number == 2:
            begin, after = first, last
        place = last
    start = 0
    for feature in range(ends.size):
        if ends[feature] - start == key_end - key_begin:
            same = True
            for index in range(key_end - key_begin):
                if names[start + index] != data[key_begin + index]:
                    same = False
                    break
            if same:
                rows[feature, BEGIN], rows[feature, END] = begin, after
        start = ends[feature]
    return 0


@op.jit
def _find(
    data: U8Vector, place: Int, end: Int, names: U8Vector, ends: I64Vector, rows: I64Table
) -> Int:
    """Where the wanted Feature messages of a sample are. Returns the place, plus 1, where the
    message cannot be understood, else 0."""
    while place < end:
        number, wire, first, last = _field(data, place, end)
        if number < 0:
            return place + 1
        place = last
        inner = first if number == 1 and wire == 2 else last
        while inner < last:
            key, kind, begin, after = _field(data, inner, last)
            if key < 0:
                return inner + 1
            if key == 1 and kind == 2:
                bad = _entry(data, begin, after, names, ends, rows)
                if bad > 0:
                    return bad
            inner = after
    return 0


@op.jit
def _count_list(
    data: U8Vector, kind: Int, place: Int, end: Int, first: I64Vector, total: Int
) -> Int:
    """How many values there are with those of this list; -1 - place where it is broken."""
    while place < end:
        number, wire, begin, after = _field(data, place, end)
        if number < 0:
            return -1 - place
        if number == 1:
            if kind == BYTES:
                if wire != 2:
                    return -1 - place
                if total == 0:
                    first[0], first[1] = begin, after
                total += 1
            elif wire == 2 and kind == FLOATS:
                if (after - begin) % 4:
                    return -1 - place
                total += (after - begin) // 4
            elif wire == 2:
                while begin < after:
                    begin = _varint(data, begin, after)[1]
                    if begin < 0:
                        return -1 - place
                    total += 1
            elif wire == (5 if kind == FLOATS else 0):
                total += 1
            else:
                return -1 - place
        place = after
    return total


@op.jit
def _count(data: U8Vector, row: I64Vector) -> Int:
    """Kind and number of the values of a feature. Returns as `_find`."""
    place: Int
    place, end = row[BEGIN], row[END]
    kind: Int
    total: Int
    kind = total = np.int64(0)
    while place < end:
        number, wire, begin, after = _field(data, place, end)
        if number < 0:
            return place + 1
        if 1 <= number <= 3 and wire == 2:
            if number != kind:
                kind, total = number, np.int64(0)
            total = _count_list(data, kind, begin, after, row[FIRST : FIRST + 2], total)
            if total < 0:
                return -total
        place = after
    row[KIND], row[COUNT] = kind if total > 0 else 0, total
    return 0


@op.jit
def _judge(row: I64Vector, wanted: int, least: int, item: int, required: int) -> None:
    """Whether the values fit the feature: these numbers are those of `wanted_of`."""
    total = row[COUNT]
    if total > 0 and (row[KIND] != wanted or (total > least if item == 0 else total % item)):
        row[KIND], row[VERDICT] = -row[KIND], MISFIT
    elif total < least:
        row[VERDICT] = MISSING if required else SHORT if total > 0 else ABSENT
    elif total > 0:
        row[VERDICT] = COMPLETE


@op.jit
def parse(
    data: U8Vector,
    offsets: I64Vector,
    sizes: I64Vector,
    before: int,
    behind: int,
    names: U8Vector,
    ends: I64Vector,
    wanted: I64Table,
    rows: I64Volume,
    broken: I64Vector,
) -> None:
    """Fill the rows of each sample (samples, features, `COLUMNS`), which are zeros.

    offsets, sizes: of the records, with so many bytes `before` and `behind` the message;
    names, ends: the keys one after the other, and where each ends; wanted: of each feature, four
    numbers for `_judge`; broken: takes the place, plus 1, where a message cannot be understood,
    -1 where the record has another length than it says. A record of no bytes is left out.
    """
    for sample in range(offsets.size):
        size, place = sizes[sample], offsets[sample]
        if size == 0:
            continue
        said = np.uint64(0)
        for byte in range(8):
            said |= np.uint64(data[place + byte]) << np.uint64(8 * byte)
        if said != np.uint64(size - before - behind):
            broken[sample] = -1
            continue
        first, last = place + before, place + size - behind
        bad = _find(data, first, last, names, ends, rows[sample])
        for feature in range(ends.size):
            row = rows[sample, feature]
            if bad == 0:
                bad = _count(data, row)
        broken[sample] = bad
        for feature in range(ends.size):
            row = rows[sample, feature]
            if bad > 0:
                row[:] = 0
            else:
                asked = wanted[feature]
                _judge(row, asked[0], asked[1], asked[2], asked[3])


@op.jit
def _word(data: U8Vector, place: Int) -> np.uint32:
    """The 32 bits that stand at a place, the lowest byte first."""
    low = np.uint32(data[place]) | np.uint32(data[place + 1]) << np.uint32(8)
    high = np.uint32(data[place + 2]) | np.uint32(data[place + 3]) << np.uint32(8)
    return low | high << np.uint32(16)


@op.jit
def fill(
    data: U8Vector, rows: I64Table, offsets: I64Vector, floats: U32Vector, integers: U64Vector
) -> None:
    """Write the values of one feature of each sample (its rows), from these offsets on: bits of
    float32 to `floats`, of int64 to `integers`."""
    for sample in range(offsets.size):
        row = rows[sample]
        kind, target = row[KIND], offsets[sample]
        limit = target + row[COUNT]  # lists that another one makes void may hold more
        place, end = row[BEGIN], row[END]
        while place < end and kind > 0:
            number, wire, inner, after = _field(data, place, end)
            place = after
            if 1 <= number <= 3 and wire == 2 and number != kind:
                target = offsets[sample]  # another list after this one made it void
            while inner < after and number == kind and wire == 2:
                key, _, begin, last = _field(data, inner, after)
                inner = last
                while key == 1 and begin < last and target < limit:
                    if kind == FLOATS:
                        floats[target] = _word(data, begin)
                        begin += 4
                    else:
                        integers[target], begin = _varint(data, begin, last)
                    target += 1


@op.jit
def copy_bytes(data: U8Vector, rows: I64Table, offsets: I64Vector, target: U8Vector) -> None:
    """Copy the first value of each sample that has one to use."""
    for sample in range(offsets.size):
        if rows[sample, KIND] > 0:
            begin, end = rows[sample, FIRST], rows[sample, FIRST + 1]
            place = offsets[sample]
            target[place : place + end - begin] = data[begin:end]
