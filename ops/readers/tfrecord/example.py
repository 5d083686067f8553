"""The features of `tf.train.Example` messages, found in the bytes of records.

The messages (protobuf's wire format; field numbers in front): Example {1: Features}; Features {1:
repeated entry {1: key, 2: Feature}}; Feature {1: BytesList, 2: FloatList, 3: Int64List}, the last
of which counts; a list {1: repeated value}, packed or not. Of entries with one key the last counts.

Places are numbers of bytes in the slab of a batch. `broken` takes the place, plus 1, where the
message of a sample cannot be understood.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

__all__ = ["BYTES", "FLOATS", "INTEGERS", "copy_bytes", "count", "fill", "find"]

BYTES: Final = 1
FLOATS: Final = 2
INTEGERS: Final = 3


@op.jit
def _varint(data: Any, place: Any, end: Any) -> Any:
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
def _field(data: Any, place: Any, end: Any) -> Any:
    """Number, wire type, begin and end of the next field's value; number -1 for none."""
    key, begin = _varint(data, place, end)
    if begin < 0 or key >> np.uint64(3) > np.uint64(1 << 29) or key < np.uint64(8):
        return -1, 0, 0, 0
    number, wire = np.int64(key >> np.uint64(3)), np.int64(key & np.uint64(7))
    after = np.int64(-1)
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
def _entry(data: Any, place: Any, end: Any, names: Any, ends: Any, found: Any) -> Any:
    """Note the Feature of an entry if its key is wanted. Returns the place where it is broken."""
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
                found[feature, 0], found[feature, 1] = begin, after
        start = ends[feature]
    return 0


@op.jit
def find(
    data: Any, begins: Any, limits: Any, names: Any, ends: Any, found: Any, broken: Any
) -> None:
    """Begin and end of the wanted Feature messages of each sample, 0 and 0 where there is none.

    begins, limits: of the messages; names, ends: the keys one after the other, and where each ends;
    found: int64 (samples, features, 2).
    """
    for sample in range(begins.size):
        place, end = begins[sample], limits[sample]
        while place < end and broken[sample] == 0:
            number, wire, first, last = _field(data, place, end)
            if number < 0:
                broken[sample] = place + 1
                break
            place = last
            inner = first if number == 1 and wire == 2 else last
            while inner < last:
                key, kind, begin, after = _field(data, inner, last)
                if key < 0:
                    broken[sample] = inner + 1
                    break
                if key == 1 and kind == 2:
                    bad = _entry(data, begin, after, names, ends, found[sample])
                    if bad > 0:
                        broken[sample] = bad
                        break
                inner = after


@op.jit
def _count_list(data: Any, kind: Any, place: Any, end: Any, first: Any, total: Any) -> Any:
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
def count(data: Any, found: Any, kinds: Any, counts: Any, firsts: Any, broken: Any) -> None:
    """Kind (0 for none) and number of the values of each feature; begin and end of the first one,
    if these are bytes."""
    for sample in range(found.shape[0]):
        for feature in range(found.shape[1]):
            place, end = found[sample, feature, 0], found[sample, feature, 1]
            kind = total = np.int64(0)
            while place < end:
                number, wire, begin, after = _field(data, place, end)
                if number < 0:
                    broken[sample] = place + 1
                    total = np.int64(0)
                    break
                if 1 <= number <= 3 and wire == 2:
                    if number != kind:
                        kind, total = number, np.int64(0)
                    total = _count_list(data, kind, begin, after, firsts[sample, feature], total)
                    if total < 0:
                        broken[sample] = -total
                        break
                place = after
            kinds[sample, feature], counts[sample, feature] = kind, max(total, 0)


@op.jit
def _word(data: Any, place: Any) -> Any:
    low = np.uint32(data[place]) | np.uint32(data[place + 1]) << np.uint32(8)
    high = np.uint32(data[place + 2]) | np.uint32(data[place + 3]) << np.uint32(8)
    return low | high << np.uint32(16)


@op.jit
def fill(
    data: Any, found: Any, kinds: Any, counts: Any, offsets: Any, floats: Any, integers: Any
) -> None:
    """Write the values of one feature of each sample, which `count` has found sound, from these
    offsets on: bits of float32 to `floats`, of int64 to `integers`. kinds: 0 to leave one out."""
    for sample in range(offsets.size):
        kind, target = kinds[sample], offsets[sample]
        limit = target + counts[sample]  # lists that another one makes void may hold more
        place, end = found[sample, 0], found[sample, 1]
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
def copy_bytes(data: Any, firsts: Any, chosen: Any, offsets: Any, target: Any) -> None:
    """Copy the first value of each chosen sample."""
    for sample in range(offsets.size):
        if chosen[sample]:
            begin, end = firsts[sample, 0], firsts[sample, 1]
            place = offsets[sample]
            target[place : place + end - begin] = data[begin:end]
