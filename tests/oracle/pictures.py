"""What the comparisons run on: photographs, noise, extreme values, odd sizes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import Batch, batch

Array = np.ndarray[Any, Any]

FOLDER = Path(gradiva.__file__).parent / "photographs"


@cache
def photograph(name: str) -> Array:
    """One of the package's photographs, as uint8 HWC (gray ones have three equal channels)."""
    (path,) = FOLDER.glob(f"*/{name}.jpg")
    with Image.open(path) as picture:
        result = np.asarray(picture.convert("RGB"))
    result.flags.writeable = False
    return result


def part(name: str, top: int, left: int, height: int, width: int) -> Array:
    """A window of a photograph."""
    result = photograph(name)[top : top + height, left : left + width]
    assert result.shape[:2] == (height, width)
    return np.ascontiguousarray(result)


def pictures(dtype: Any = np.uint8) -> Batch:
    """A ragged batch: photographs, noise, one row, one column, one pixel, odd sizes."""
    noise = np.random.default_rng(0)
    arrays = [
        part("astronaut", 40, 150, 96, 131),
        part("coffee", 100, 200, 77, 64),
        noise.integers(0, 256, (33, 17, 3)),
        noise.integers(0, 256, (1, 40, 3)),
        noise.integers(0, 256, (23, 1, 3)),
        noise.integers(0, 256, (1, 1, 3)),
    ]
    return batch([scaled(array.astype(np.uint8), dtype) for array in arrays], layout="HWC")


def scaled(array: Array, dtype: Any) -> Array:
    """uint8 pixels in the range of another dtype, with low bits that vary."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (array / 255).astype(dtype)
    if dtype.itemsize == 1:
        return array.astype(dtype)
    low = np.arange(array.size).reshape(array.shape) * 73 % 256
    result: Array = (array.astype(np.int64) * 256 + low - 32768 * (dtype.kind == "i")).astype(dtype)
    return result


def ramp(*shape: int, dtype: Any = np.uint8, seed: int = 0) -> Array:
    """Random bits of any dtype: all that an operator that only moves elements may meet."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    bits = generator.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    result: Array = bits.view(dtype).reshape(shape)
    return result


def ragged(layout: str, dtype: Any = np.uint8) -> list[Array]:
    """Three samples of random extents, with three channels."""
    generator = np.random.default_rng(0)
    letters = layout or "HWC"
    return [
        ramp(*(3 if c == "C" else int(generator.integers(4, 9)) for c in letters), dtype=dtype)
        for _ in range(3)
    ]


def values(dtype: Any, generator: np.random.Generator, count: int = 200) -> Array:
    """Ordinary, extreme and (floats) special values of a dtype, shuffled."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(bool)
    quarter = count // 4
    if dtype.kind == "f":
        floats = np.concatenate(
            [
                generator.normal(0, 1, quarter),
                generator.normal(0, 1e3, quarter),
                10.0 ** generator.uniform(-30, 30, quarter),
                generator.integers(-5, 6, count - 3 * quarter),
            ]
        )
        with np.errstate(over="ignore"):
            drawn = floats.astype(dtype)
        drawn[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2]
        return generator.permutation(drawn)
    limits = np.iinfo(dtype)
    whole = generator.integers(limits.min, limits.max, count // 2, dtype=dtype, endpoint=True)
    small = generator.integers(0 if limits.min == 0 else -6, 10, count - count // 2)
    drawn = np.concatenate([whole, small.astype(dtype)])
    drawn[:5] = [limits.min, limits.max, 0, 1, limits.max - 1]
    return generator.permutation(drawn)
