"""Images of Pillow and tensors of torch, and whether two of either are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

Array = np.ndarray[Any, Any]
CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
SIZES = ((13, 17), (30, 9), (1, 1), (7, 40))


def pixels(height: int, width: int, channels: int, dtype: Any = np.uint8) -> Array:
    """Noise (H, W, C), which a number of these arguments makes."""
    generator = np.random.default_rng((height, width, channels))
    if dtype == np.float32:
        return generator.random((height, width, channels), np.float32)
    return generator.integers(0, 256, (height, width, channels)).astype(dtype)


def picture(height: int, width: int, mode: str = "RGB") -> Image.Image:
    """Noise as an image of Pillow."""
    array = pixels(height, width, CHANNELS[mode])
    return Image.fromarray(array[..., 0] if mode == "L" else array)


def planes(torch: Any, lead: tuple[int, ...], channels: int, size: Any, dtype: Any) -> Any:
    """Noise as a tensor (..., C, H, W)."""
    height, width = size
    count = int(np.prod(lead, dtype=int))
    array = pixels(height, width, channels * count, dtype).transpose(2, 0, 1)
    whole = np.ascontiguousarray(array).reshape(*lead, channels, height, width)
    return torch.from_numpy(whole)


def assert_same(mine: Any, theirs: Any) -> None:
    """The same kind, size, mode or dtype, and bits."""
    assert type(mine) is type(theirs)
    if isinstance(theirs, list):
        assert mine == theirs
        return
    if isinstance(theirs, Image.Image):
        assert (mine.mode, mine.size) == (theirs.mode, theirs.size)
    else:
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
