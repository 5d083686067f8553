"""The boxes of `bbox_rotate` in the new pixels."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F32Table, F64Table, I64Table, I64Vector, Number


@op.jit
def _upright(cosine: float, sine: float) -> bool:
    """Whether the sides of an image stay nearer to what they were than to each other."""
    return abs(sine) < abs(cosine) - 1e-6


@op.jit
def _cut(value: float, limit: float) -> Number:
    """From 0 to the limit; NaN stays."""
    if value <= 0.0:
        return 0.0
    return limit if value >= limit else value


@op.jit
def rotate_boxes(
    rows: tuple[F32Table, I64Vector, I64Vector],
    sizes: F64Table,
    turns: F64Table,
    rule: tuple[float, bool, bool, float],
    results: tuple[F64Table, BoolVector, I64Table],
    begin: int,
    end: int,
) -> None:
    """Rotate the boxes of a range of samples, in float64, and count those that stay.

    rows: source (total, 4), starts, counts. sizes: (N, 4), height and width of the image and of the
    result; turns: (N, 2), cosine and sine. rule: share (of the growth of boxes), normalized, sized,
    threshold. results: target (total, 4), kept (total,), numbers (N, 1).
    """
    source, starts, counts = rows
    share, normalized, sized, threshold = rule
    target, kept, numbers = results
    for i in range(begin, end):
        height, width, tall, wide = sizes[i, 0], sizes[i, 1], sizes[i, 2], sizes[i, 3]
        cosine, sine = turns[i, 0], turns[i, 1]
        turned = not _upright(cosine, sine)
        number = 0
        for row in range(starts[i], starts[i] + counts[i]):
            left, top = np.float64(source[row, 0]), np.float64(source[row, 1])
            right, bottom = np.float64(source[row, 2]), np.float64(source[row, 3])
            if sized:
                right += left
                bottom += top
            if normalized:
                left *= width
                top *= height
                right *= width
                bottom *= height
            center_x = (left + right - width) / 2
            center_y = (top + bottom - height) / 2
            half_x = abs(right - left) / 2
            half_y = abs(bottom - top) / 2
            bounds_x = abs(cosine) * half_x + abs(sine) * half_y
            bounds_y = abs(cosine) * half_y + abs(sine) * half_x
            if turned:
                half_x, half_y = half_y, half_x
            half_x = share * bounds_x + (1 - share) * half_x
            half_y = share * bounds_y + (1 - share) * half_y
            x = center_x * cosine + center_y * sine + wide / 2
            y = center_y * cosine - center_x * sine + tall / 2
            left, top, right, bottom = x - half_x, y - half_y, x + half_x, y + half_y
            whole = (right - left) * (bottom - top)
            left, top = _cut(left, wide), _cut(top, tall)
            right, bottom = _cut(right, wide), _cut(bottom, tall)
            remaining = (right - left) * (bottom - top) / (whole if whole > 0.0 else 1.0)
            kept[row] = remaining >= threshold
            number += kept[row]
            if normalized:
                left /= wide
                top /= tall
                right /= wide
                bottom /= tall
            if sized:
                right -= left
                bottom -= top
            target[row, 0] = left
            target[row, 1] = top
            target[row, 2] = right
            target[row, 3] = bottom
        numbers[i, 0] = number
