"""Windows of `laplacian`: from sizes and scales to weights."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float32Array, Float64Array

from .blur_windows import per_axis

_MOST: Final = 31


def laplacian_windows(
    window_size: op.Int64Array,
    smoothing_size: op.Int64Array | None,
    scale: Float32Array | None,
    normalized: bool,
    axes: int,
    count: int,
) -> tuple[Float32Array, op.Int64Array, Float32Array]:
    """Weights (N, axes, 3, K), half sizes (N, axes, 3) and factors (N, axes): for each partial
    derivative, a window along each of the axes D, H, W, of which the last `axes` are used.

    weights[i, partial, axis, d] is the weight at distance d from the middle. Raises
    OperatorValueError.
    """
    windows = per_axis("window_size", window_size, axes, count)
    smooth = None
    if smoothing_size is not None:
        smooth = per_axis("smoothing_size", smoothing_size, axes, count)
        _check_sizes("smoothing_size", smooth, 1)
    _check_sizes("window_size", windows, 3)
    if scale is not None and normalized:
        raise op.OperatorValueError(
            "give `scale` or `normalized_kernel=True`, not both", argument="scale"
        )
    scales = np.ones((count, axes), np.float32)
    if scale is not None:
        scales = per_axis("scale", scale, axes, count)
    sizes = np.empty((count, axes, axes), np.int64)
    sizes[:] = windows[:, :, None] if smooth is None else smooth[:, None, :]
    for axis in range(axes):
        sizes[:, axis, axis] = windows[:, axis]
    most = int(sizes.max(initial=1)) // 2
    weights = np.zeros((count, axes, 3, most + 1), np.float64)
    weights[..., 0] = 1
    halves = np.zeros((count, axes, 3), np.int64)
    halves[:, :, 3 - axes :] = sizes // 2
    factors = scales
    if normalized:
        factors = 2.0 ** (axes + 2 - sizes.sum(axis=2))
    for sample, partial, axis in np.ndindex(count, axes, axes):
        size, derive = int(sizes[sample, partial, axis]), axis == partial
        window = weights[sample, partial, 3 - axes + axis]
        window[: size // 2 + 1] = _window(size, derive)
    return weights.astype(np.float32), halves, np.ascontiguousarray(factors, np.float32)


@lru_cache(maxsize=64)
def _window(size: int, derive: bool) -> Float64Array:
    """The middle of a window and what follows it: binomial coefficients, which smooth; for a
    derivative the second difference of those of a window that is shorter by two."""
    length = size - 2 if derive else size
    smooth = np.array([math.comb(length - 1, k) for k in range(length)], np.float64)
    return (np.convolve(smooth, [1, -2, 1]) if derive else smooth)[size // 2 :]


def _check_sizes(name: str, sizes: Array, least: int) -> None:
    bad = (sizes < least) | (sizes > _MOST) | (sizes % 2 == 0)
    op.refuse_samples(bad, name, f"an odd number from {least} to {_MOST}", sizes)
