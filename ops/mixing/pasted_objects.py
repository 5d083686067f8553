"""The kernels of `copy_paste`: which objects are pasted, what they hide, and the pixels."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import (
    BoolVector,
    Draws,
    F32Vector,
    I64Table,
    I64Vector,
    Slabs,
    U8Vector,
)

from .groups import OBJECTS


@op.jit
def choose_objects(
    draws: Draws, rows: tuple[I64Vector, I64Vector], chances: F32Vector, kept: BoolVector
) -> None:
    """Draw whether objects are pasted. rows: of each sample the first of its rows in `kept`, and
    how many there are; chances: of each of them to be pasted."""
    positions, seed, number = draws
    firsts, counts = rows
    for i in range(positions.size):
        chance = np.float64(chances[i])
        for k in range(counts[i]):
            block = np.uint32(OBJECTS + k // 4)
            words = philox(block, number, np.uint64(positions[i]), seed)
            word = words[0]
            for j in range(1, 4):
                if k % 4 == j:
                    word = words[j]
            kept[firsts[i] + k] = (np.float64(word) + 0.5) * 2.0**-32 < chance


@always_inline
def _survey(
    mask: U8Vector, cover: U8Vector, extents: tuple[int, int, int, int], box: I64Vector
) -> int:
    """The number of pixels of a mask that are not covered, and in `box` their left, top, right and
    bottom. extents: rows and columns that count, the width of the mask and that of the cover."""
    rows, columns, width, wide = extents
    area = 0
    left, top, right, bottom = columns, rows, 0, 0
    for y in range(rows):
        own, over = mask[y * width : y * width + columns], cover[y * wide : y * wide + columns]
        count = 0
        for x in range(columns):
            count += 1 if (own[x] != 0) & (over[x] == 0) else 0
        if count == 0:
            continue
        area += count
        top, bottom = min(top, y), y + 1
        for x in range(columns):
            if own[x] != 0 and over[x] == 0:
                left = min(left, x)
                break
        for x in range(columns - 1, -1, -1):
            if own[x] != 0 and over[x] == 0:
                right = max(right, x + 1)
                break
    box[0], box[1], box[2], box[3] = left, top, right, bottom
    return area


@op.jit
def survey_objects(
    masks: tuple[U8Vector, I64Vector, I64Table],
    partners: I64Vector,
    tables: tuple[tuple[U8Vector, I64Vector], tuple[I64Vector, BoolVector, I64Table]],
    least: int,
    begin: int,
    end: int,
) -> None:
    """Mark what is pasted, and find the boxes of all objects.

    masks: elements, where samples begin, and their shapes; tables: pixels that are pasted, and
    where those of a sample begin; the first row of each sample in the other two, which objects are
    left, and their boxes. The rows of a sample are those of its own objects, then those of its
    partner. least: objects of fewer pixels are left out.
    """
    data, offsets, shapes = masks
    (covers, places), (firsts, kept, boxes) = tables
    least = max(least, 1)
    for i in range(begin, end):
        own, height, width = shapes[i]
        p = partners[i]
        others, tall, wide = shapes[p]
        cover = covers[places[i] : places[i] + height * width]
        rows, columns = min(height, tall), min(width, wide)
        empty = np.zeros(columns, np.uint8)
        for k in range(others):
            row = firsts[i] + own + k
            if not kept[row]:
                continue
            at = offsets[p] + k * tall * wide
            mask = data[at : at + tall * wide]
            area = _survey(mask, empty, (rows, columns, wide, 0), boxes[row])
            if area < least:
                kept[row] = False
                continue
            for y in range(rows):
                over = cover[y * width : y * width + columns]
                part = mask[y * wide : y * wide + columns]
                for x in range(columns):
                    over[x] |= np.uint8(part[x] != 0)
        for k in range(own):
            row = firsts[i] + k
            at = offsets[i] + k * height * width
            mask = data[at : at + height * width]
            area = _survey(mask, cover, (height, width, width, width), boxes[row])
            kept[row] = area >= least


@op.jit
def paste_pixels(
    slabs: Slabs,
    planes: I64Table,
    partners: I64Vector,
    cover: tuple[U8Vector, I64Vector],
    begin: int,
    end: int,
) -> None:
    """Copy images, and the covered pixels from those of their partners. planes: as `planes_of`
    makes them; cover: which pixels, and where those of a sample begin."""
    source, offsets, target, places = slabs
    covers, firsts = cover
    for i in range(begin, end):
        count, height, width, inner = planes[i]
        p = partners[i]
        volume = count * height * width * inner
        own = source[offsets[i] : offsets[i] + volume]
        made = target[places[i] : places[i] + volume]
        for k in range(volume):
            made[k] = own[k]
        rows, columns = min(height, planes[p, 1]), min(width, planes[p, 2])
        for a in range(count):
            for y in range(rows):
                over = covers[firsts[i] + y * width : firsts[i] + y * width + columns]
                to = (a * height + y) * width * inner
                at = offsets[p] + (a * planes[p, 1] + y) * planes[p, 2] * inner
                for x in range(columns):
                    if over[x] != 0:
                        for k in range(inner):
                            made[to + x * inner + k] = source[at + x * inner + k]


@op.jit
def paste_masks(
    masks: tuple[U8Vector, I64Vector, I64Table],
    result: tuple[U8Vector, I64Vector, I64Table],
    rows: tuple[I64Vector, I64Vector, I64Vector],
    cover: tuple[U8Vector, I64Vector],
    begin: int,
    end: int,
) -> None:
    """Copy the masks that are left: the sample's own without what is covered.

    masks, result: elements, where samples begin, and their shapes; rows: the first row of each
    sample, and of each row the sample and the number of its mask there; cover: which pixels are
    covered, and where those of a sample begin.
    """
    data, offsets, shapes = masks
    made, places, extents = result
    firsts, samples, numbers = rows
    covers, starts = cover
    for i in range(begin, end):
        height, width = extents[i, 1], extents[i, 2]
        for row in range(firsts[i], firsts[i + 1]):
            p = samples[row]
            tall, wide = shapes[p, 1], shapes[p, 2]
            to = places[i] + (row - firsts[i]) * height * width
            at = offsets[p] + numbers[row] * tall * wide
            for y in range(height):
                target = made[to + y * width : to + (y + 1) * width]
                over = covers[starts[i] + y * width : starts[i] + (y + 1) * width]
                if p == i:
                    own = data[at + y * wide : at + y * wide + width]
                    for x in range(width):
                        target[x] = own[x] if over[x] == 0 else np.uint8(0)
                else:
                    columns = min(width, wide) if y < tall else 0
                    for x in range(columns):
                        target[x] = data[at + y * wide + x]
                    for x in range(columns, width):
                        target[x] = np.uint8(0)
