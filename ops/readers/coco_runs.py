"""Masks: runs of pixels and polygons, drawn into arrays.

Runs are lengths, column by column and the first of background: as numbers, or as text of six bits
a character (from "0" on): five of the number, the lowest first, and one that says that it goes on;
the fifth of the last is its sign; each number from the fourth on is the difference to the one two
before. A polygon's outline is walked in fifths of a pixel, and each pixel boundary that it crosses
begins or ends a run. (COCO API, `maskApi.h`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, I32Volume, I64Table, I64Vector

_CHARACTERS = 7
"""Of one number: of 35 bits."""


def counts_of(given: list[Any] | str, pixels: int) -> Array | None:
    """The lengths of runs, or None for what is none: they make up all pixels."""
    counts = _unpacked(given) if isinstance(given, str) else given
    if counts is None:
        return None
    # Numbers of JSON have no kinds: 26.0 is 26.
    counts = [int(one) if isinstance(one, float) and one.is_integer() else one for one in counts]
    for count in counts:
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= pixels:
            return None
    return np.array(counts, np.uint32) if sum(counts) == pixels else None


def _unpacked(text: str) -> list[int] | None:
    found: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift >= 5 * _CHARACTERS:
            return None
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            found.append(value + found[-2] if len(found) > 2 else value)
            value = shift = 0
    return None if shift else found


def draw_runs(mask: Array, counts: Array, label: int) -> None:
    """Draw a mask of runs into an array (height, width, 1)."""
    _fill(mask, np.cumsum(counts.astype(np.int64)), label)


def draw_polygon(mask: Array, vertices: Array, label: int) -> bool:
    """Draw a polygon into an array (height, width, 1). False for a vertex that is much farther
    away than the image is large: to walk there would take as long as someone likes."""
    extent = max(mask.shape)
    if not (np.abs(vertices) <= 8 * extent + 64).all():
        return False
    # The vertices in fifths of a pixel, rounded towards zero; the first one again at the end.
    points = np.trunc(5.0 * vertices.astype(np.float64) + 0.5).astype(np.int64)
    points = np.concatenate([points, points[:1]])
    most = (np.abs(np.diff(points[:, 0])) // 5 + 2).sum()
    edges = np.empty(int(most), np.int64)
    count = _crossings(points, mask.shape[0], mask.shape[1], edges)
    found = edges[:count]
    found.sort()
    _fill(mask, found, label)
    return True


@op.jit
def _fill(mask: I32Volume, edges: I64Vector, label: int) -> None:
    """Write the label from the first edge to the second, from the third on, and so forth; edges:
    numbers of pixels, column by column."""
    height, width = mask.shape[0], mask.shape[1]
    for index in range(0, edges.size, 2):
        last = edges[index + 1] if index + 1 < edges.size else height * width
        x, y = edges[index] // height, edges[index] % height
        for _ in range(edges[index], min(last, height * width)):
            mask[y, x, 0] = label
            y += 1
            if y == height:
                x, y = x + 1, 0


@op.jit
def _crossings(points: I64Table, height: int, width: int, edges: I64Vector) -> int:
    """Where the outline crosses from one column of pixels to the next. Returns how many there
    are."""
    count = 0
    for index in range(points.shape[0] - 1):
        x0, y0 = points[index, 0], points[index, 1]
        x1, y1 = points[index + 1, 0], points[index + 1, 1]
        wide, high = abs(x1 - x0), abs(y1 - y0)
        if wide == 0:
            continue
        flat = wide >= high
        turned = (flat and x0 > x1) or (not flat and y0 > y1)
        xs, ys = (x1, y1) if turned else (x0, y0)
        slope = (y1 - y0) / (x1 - x0) if flat else (x1 - x0) / (y1 - y0)
        steps = wide if flat else high
        before_u, before_v = x0, y0
        for step in range(steps + 1):
            along = steps - step if turned else step
            if flat:
                u, v = xs + along, int(ys + slope * along + 0.5)
            else:
                u, v = int(xs + slope * along + 0.5), ys + along
            if step > 0 and u != before_u:
                # A column's middle lies where this is a whole number.
                fifth = (u if u < before_u else u - 1) - 2
                x = fifth // 5
                if fifth % 5 == 0 and 0 <= x < width:
                    y = (min(v, before_v) + 0.5) / 5.0 - 0.5
                    y = min(max(y, 0.0), float(height))
                    edges[count] = x * height + int(np.ceil(y))
                    count += 1
            before_u, before_v = u, v
    return count
