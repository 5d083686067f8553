"""A row kernel for float16, which Numba lacks on the CPU: it works on the bits."""

from __future__ import annotations

import numpy as np

from gradiva.eager.types.arrays import F32Vector, U16Vector, U32Vector

from .row_chain import RowStep
from .row_kernel import row_kernel


@row_kernel()
def half_row(source: U32Vector, target: U16Vector, parameters: F32Vector) -> None:
    """float32 to float16, both as bits: those of `convert.to_half`, ties away from zero."""
    for k in range(source.size):
        bits = source[k]
        magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
        # Normal: rebias the exponent, add half a unit, drop 13 bits; a carry moves to the exponent.
        moved = np.uint32(magnitude - np.uint32(0x37FFF000))
        half = np.uint32(moved >> np.uint32(13))
        # Subnormal: the significand in units of 2**-24, half a unit added; 0 from 26 bits on.
        places = np.uint32(126) - np.uint32(magnitude >> np.uint32(23))
        places = places if places < np.uint32(26) else np.uint32(26)
        places = places if places > np.uint32(1) else np.uint32(1)
        whole = np.uint32((magnitude & np.uint32(0x7FFFFF)) | np.uint32(0x800000))
        unit = np.uint32(np.uint32(1) << np.uint32(places - np.uint32(1)))
        small = np.uint32(np.uint32(whole + unit) >> np.uint32(places))
        half = small if magnitude < np.uint32(0x38800000) else half
        half = half if magnitude < np.uint32(0x47800000) else np.uint32(0x7C00)
        half = half if magnitude <= np.uint32(0x7F800000) else np.uint32(0x7E00)
        sign = np.uint32(np.uint32(bits >> np.uint32(16)) & np.uint32(0x8000))
        target[k] = np.uint16(half | sign)


def half_step(samples: int, channels: int) -> RowStep:
    """The step of a chain that makes float16 out of float32."""
    nothing = np.zeros((samples, 1, 1), np.float32)
    return RowStep(half_row, np.dtype(np.uint32), np.dtype(np.uint16), nothing, channels)
