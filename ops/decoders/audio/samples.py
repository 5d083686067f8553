"""Samples as a file has them, as others."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Vector, I16Vector
from gradiva.ops.audio.audio_types import convert_audio


@op.jit
def _scale(source: I16Vector, step: np.float32, target: F32Vector) -> None:
    """Integers of 16 bits times `step`, as float32."""
    for k in range(source.size):
        target[k] = np.float32(source[k]) * step


def convert_samples(source: Array, target: Array) -> None:
    """Samples of a file as others, both flat. Integers keep their upper bits, as floats from -1 to
    1; floats become integers as everywhere, rounded and saturated."""
    if source.dtype.kind == "f":
        floats = source.astype(np.float32, copy=False)
        if target.dtype.kind == "f":
            target[:] = floats
        else:
            convert_audio(np.ascontiguousarray(floats), target)
        return
    bits, wanted = source.dtype.itemsize * 8, target.dtype.itemsize * 8
    if target.dtype.kind == "f":
        _scale(np.require(source, requirements="A"), np.float32(2.0 ** (1 - bits)), target)
    elif wanted >= bits:
        np.left_shift(source, wanted - bits, out=target, dtype=target.dtype)
    else:
        target[:] = np.right_shift(source, bits - wanted).astype(target.dtype)
