"""`gaussian_blur(compat=...)`: the blur of torchvision's tensors, and that of Pillow.

torchvision makes one window of two axes and takes the sum of all products for each pixel, row by
row, with one rounding for each; then uint8 is rounded, halves to even. Its weights are a softmax,
whose last bits differ between machines; here each exponential is rounded once.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import (
    F32Table,
    F32Vector,
    F32Volume,
    Float32Array,
    I64Table,
    Int64Array,
    Slabs,
)
from gradiva.ops.image.enhance.compat import planes_of, run_pillow
from gradiva.ops.image.enhance.torch_colors import fused

from .blur_rows import reflect
from .blur_windows import per_axis

_filters: Any = lazy_module("PIL.ImageFilter", "pillow")


@lru_cache(maxsize=64)
def _weights(size: int, sigma: float) -> Float32Array:
    """The weights of one axis, float32."""
    reach = (size - 1) / (2.0 * math.sqrt(2.0))
    if size == 1:
        return np.ones(1, np.float32)
    first, last = np.float32(-reach), np.float32(reach)
    step = np.float64((last - first) / np.float32(size - 1))
    taps = np.arange(size)
    places = np.where(taps < size // 2, step * taps + first, last - step * (size - 1 - taps))
    powers = -((places.astype(np.float32) / np.float32(sigma)) ** 2)
    values = np.exp((powers - powers.max()).astype(np.float64))
    made: Float32Array = (values / values.sum()).astype(np.float32)
    return made


def _windows(call: op.Call) -> tuple[Float32Array, Int64Array]:
    """(N, taps, taps), and (N, 2), how many rows and columns of them count."""
    sigmas = per_axis("sigma", call["sigma"], 2, call.size).astype(np.float64)
    sizes = per_axis("window_size", call["window_size"], 2, call.size).astype(np.int64)
    op.refuse_samples(~((sigmas >= 0) & (sigmas < np.inf)), "sigma", "0 or more", sigmas)
    odd = (sizes > 0) & (sizes % 2 == 1)
    op.refuse_samples(~odd, "window_size", "odd numbers, with `compat`", sizes)
    extents = planes_of(call, None)[:, 1:3]
    few = (extents > 0) & (sizes // 2 >= extents)
    expected = "windows that reach over less than the image, with `compat`"
    op.refuse_samples(few, "window_size", expected, sizes)
    sigmas = np.where(sigmas == 0, sizes * 0.15 + 0.35, sigmas)
    most = int(sizes.max(initial=1))
    windows = np.zeros((call.size, most, most), np.float32)
    for sample, (size, sigma) in enumerate(zip(sizes.tolist(), sigmas.tolist(), strict=True)):
        down, across = (_weights(*one) for one in zip(size, sigma, strict=True))
        windows[sample, : size[0], : size[1]] = down[:, None] * across
    return windows, sizes


@op.jit
def _add_row(row: F32Vector, weight: np.float32, sums: F32Vector) -> None:
    """sums += weight * row, with one rounding."""
    for k in range(sums.size):
        sums[k] = fused(row[k], weight, sums[k])


@op.jit
def _blur_by_torch(
    slabs: Slabs, planes: I64Table, windows: F32Volume, sizes: I64Table, begin: int, end: int
) -> None:
    """planes: as `layout_planes` has them; windows, sizes: as `_windows` returns them."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        size, rows, columns = height * width * channels, sizes[i, 0], sizes[i, 1]
        if size == 0:
            continue
        # Planes of one channel, or rows of interleaved pixels: alike, but for what lies between.
        count = channels if pixel == 1 else 1
        line = width * pixel
        half_y, half_x = rows // 2, (columns // 2) * pixel
        padded: F32Table = np.empty((height, line + 2 * half_x), np.float32)
        sums = np.empty(line, np.float32)
        whole = target.itemsize == 1
        for frame in range(frames):
            for c in range(count):
                first, to = frame * size + c * step, frame * size + c * step
                for y in range(height):
                    for x in range(-(columns // 2), width + columns // 2):
                        there = sources[i] + first + y * line + reflect(x, width) * pixel
                        for k in range(pixel):
                            padded[y, half_x + x * pixel + k] = np.float32(source[there + k])
                for y in range(height):
                    sums[:] = np.float32(0.0)
                    for row in range(rows):
                        taken = padded[reflect(y + row - half_y, height)]
                        for column in range(columns):
                            begins = column * pixel
                            weight = windows[i, row, column]
                            _add_row(taken[begins : begins + line], weight, sums)
                    there = targets[i] + to + y * line
                    if whole:
                        for k in range(line):
                            target[there + k] = min(np.rint(sums[k]), np.float32(255.0))
                    else:
                        for k in range(line):
                            target[there + k] = sums[k]


def run_compat_blur(call: op.Call) -> None:
    """The kernel with `compat`."""
    if call["compat"] == "torchvision":
        call.for_slabs(_blur_by_torch, planes_of(call, None), *_windows(call))
        return
    if call["window_size"] is not None:
        raise op.wrong_value("window_size", "nothing with 'pil'", "a window")
    sigmas = per_axis("sigma", call["sigma"], 2, call.size).astype(np.float64)
    op.refuse_samples(~((sigmas >= 0) & (sigmas < 1e4)), "sigma", "from 0 to 10000", sigmas)

    def change(image: Any, sample: int) -> Any:
        down, across = sigmas[sample].tolist()
        return image.filter(_filters.GaussianBlur((across, down)))

    run_pillow(call, change)
