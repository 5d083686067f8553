"""The tables behind 8-bit RGB to CIE Lab and back, for GPU kernels that do as OpenCV on the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=1)
def lab_tables() -> np.ndarray[Any, np.dtype[np.uint16]]:
    """What ops/image/color/lab.cuh looks up, in its order: linear light of values, cube roots of
    linear light, luminance of lightness and its root, values of linear light.

    Made in float32 where OpenCV rounds to it; a test compares all 2**24 colors, both ways.
    """
    single = np.float32
    values = np.arange(256)
    linear = np.rint(single(2040) * _linear(values.astype(single) / single(255)))
    light = np.arange(2041, dtype=single) * (single(1) / single(2040))
    wide = light.astype(np.float64)
    # OpenCV's cube root is cut off to float32, not rounded.
    cube_root = (np.cbrt(wide).view(np.int64) >> 29 << 29).view(np.float64)
    line = (wide * (841 / 108) + 16 / 116).astype(single)
    root = np.rint(32768 * np.where(light < 216 / 24389, line, cube_root))
    dark = values <= 20
    above = (values * 100 * 16384).astype(single) / single(255 * 116)
    above += single(16 * 16384) / single(116)
    luma = np.rint(above * above * above / single(16384**2))
    luma = np.where(dark, np.rint(values * (16384 * 180) / (17 * 29**3)), luma)
    luma_root = np.rint(16384 * (16 / 116 + values * 5 / (3 * 17 * 29)))
    luma_root = np.where(dark, luma_root, np.rint(above))
    shown = np.rint(single(255) * _shown(np.arange(4096, dtype=single) / single(4096)))
    tables = np.concatenate([linear, root, luma, luma_root, shown]).astype(np.uint16)
    tables.flags.writeable = False
    return tables


def _linear(value: Any) -> Any:
    """Linear light of sRGB, from 0 to 1."""
    wide = value.astype(np.float64)
    curve = ((wide + 0.055) / 1.055) ** 2.4
    return np.where(wide <= 0.04045, wide / 12.92, curve).astype(np.float32)


def _shown(light: Any) -> Any:
    """sRGB of linear light, from 0 to 1."""
    wide = light.astype(np.float64)
    curve = wide ** (1 / 2.4) * 1.055 - 0.055
    return np.where(wide <= 0.0031308, wide * 12.92, curve).astype(np.float32)
