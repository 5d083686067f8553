"""Decibels of the values of one sample."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Vector

_STRIP: Final = 256
_SQUARE_ROOT: Final = np.float32(math.sqrt(2.0))
_PER_OCTAVE: Final = np.float32(math.log10(2.0))
_PER_E: Final = np.float32(2.0 / math.log(10.0))
_SMALLEST: Final = np.float32(np.finfo(np.float32).tiny)
_LARGEST: Final = np.float32(np.finfo(np.float32).max)
_LAST_PLACE: Final = np.float32(2.0**-23)
_LIFT: Final = np.float32(2.0**24)


@op.jit
def decibels(
    values: F32Vector,
    reference: np.float32,
    floor: tuple[np.float32, np.float32],
    multiplier: np.float32,
    lifted: F32Vector,
    out: F32Vector,
) -> None:
    """multiplier * log10(values / reference) of a strip.

    The logarithm is that of the exponent's bits plus 2 artanh((m - 1) / (m + 1)) of the mantissa m,
    as a series: arithmetic alone, so that loops are wide and bits are those of every machine.
    floor: the least ratio, and its result; lifted: memory, float32, as long as the strip.

    values, out: of equal length, in elements; reference: of the unit of values; multiplier:
    decibels for a factor of 10.
    """
    least, lowest = floor
    for j in range(values.size):
        ratio = values[j] / reference
        # Numbers below the smallest normal one are lifted above it.
        lifted[j] = ratio * _LIFT if ratio < _SMALLEST else ratio
    bits = lifted.view(np.int32)
    for j in range(values.size):
        ratio = values[j] / reference
        exponent = (bits[j] >> np.int32(23)) - np.int32(127)
        exponent -= np.int32(24) if ratio < _SMALLEST else np.int32(0)
        mantissa = np.float32(1) + np.float32(bits[j] & np.int32(0x7FFFFF)) * _LAST_PLACE
        high = mantissa > _SQUARE_ROOT
        mantissa = mantissa * np.float32(0.5) if high else mantissa
        octaves = np.float32(exponent + np.int32(high))
        s = (mantissa - np.float32(1)) / (mantissa + np.float32(1))
        square = s * s
        series = np.float32(1 / 9) * square + np.float32(1 / 7)
        series = series * square + np.float32(1 / 5)
        series = series * square + np.float32(1 / 3)
        series = series * square * s + s
        logarithm = octaves * _PER_OCTAVE + series * _PER_E
        logarithm = ratio if ratio > _LARGEST else logarithm
        # Neither what is negative nor NaN is more than the least.
        out[j] = multiplier * logarithm if ratio > least else lowest


@op.jit
def levels(
    values: F32Vector,
    given: np.float32,
    floor: tuple[np.float32, np.float32],
    multiplier: np.float32,
    out: F32Vector,
) -> None:
    """multiplier * log10(values / given) of a sample; 0 as `given` stands for its largest value.

    values, out: all elements of a sample; given: of the unit of values; floor: the least ratio, and
    its decibels; multiplier: decibels for a factor of 10.
    """
    reference = given
    if reference == np.float32(0):
        for k in range(values.size):
            reference = values[k] if values[k] > reference else reference
        if reference == np.float32(0):
            reference = np.float32(1)
    lifted = np.empty(_STRIP, np.float32)
    for first in range(0, values.size, _STRIP):
        last = min(first + _STRIP, values.size)
        strip = lifted[: last - first]
        decibels(values[first:last], reference, floor, multiplier, strip, out[first:last])
