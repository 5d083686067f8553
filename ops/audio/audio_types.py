"""Audio of integers as numbers from -1 to 1, and back.

The largest value of a signed type stands for 1, and 0 for 0. Unsigned types are shifted by half of
their range.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import Array, F32Vector, I16Vector, Vector

INTEGERS: Final = (
    *(op.uint8, op.int8, op.uint16, op.int16),
    *(op.uint32, op.int32, op.uint64, op.int64),
)
SOUND_TYPES: Final = (op.uint8, op.int8, op.uint16, op.int16, op.uint32, op.int32, op.float32)


def steps(dtype: np.dtype[Any]) -> tuple[np.float32, np.float32]:
    """(s, z): integer v stands for v * s - z."""
    if dtype.kind == "f":
        return np.float32(1), np.float32(0)
    most = np.iinfo(dtype).max
    if dtype.kind == "u":
        return np.float32(2.0 / most), np.float32(1)
    return np.float32(1.0 / most), np.float32(0)


def scale(dtype: np.dtype[Any]) -> tuple[np.float32, np.float32]:
    """(m, z): x becomes the integer (x + z) * m, rounded."""
    if dtype.kind == "f":
        return np.float32(1), np.float32(0)
    most = np.iinfo(dtype).max
    return (
        (np.float32(most / 2), np.float32(1))
        if dtype.kind == "u"
        else (np.float32(most), np.float32(0))
    )


@op.jit
def to_unit(source: I16Vector, step: np.float32, zero: np.float32, target: F32Vector) -> None:
    """Values as float32 numbers from -1 to 1.

    source, target: of equal length, in elements; target = source * step - zero: `step` is 1 / the
    largest value of the type, or 2 / it for unsigned ones, `zero` 0 or 1.
    """
    for k in range(source.size):
        target[k] = np.float32(source[k]) * step - zero


@op.jit
def from_unit(source: F32Vector, most: np.float32, zero: np.float32, target: Vector) -> None:
    """Numbers from -1 to 1 as values of another type, rounded and saturated.

    source, target: of equal length, in elements; target = (source + zero) * most: `most` is the
    largest value of the type, or half of it for unsigned ones, `zero` 0 or 1.
    """
    for k in range(source.size):
        target[k] = convert_sat((source[k] + zero) * most, target)


def convert_audio(source: Array, target: Array) -> None:
    """Convert flat arrays: the same bits where the types are equal."""
    if source.dtype == target.dtype:
        target[:] = source
        return
    unit = source
    if source.dtype.kind != "f":
        unit = target if target.dtype.kind == "f" else np.empty(source.size, np.float32)
        to_unit(source, *steps(source.dtype), unit)
    if target.dtype.kind != "f":
        from_unit(unit, *scale(target.dtype), target)
