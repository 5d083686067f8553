"""Windows of `gaussian_blur`: from `sigma` and `window_size` to weights."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array
from gradiva.ops.math.series import Float64Array, decay

from .blur_windows import per_axis

_MOST: Final = 65535


def windows(
    sigma: Float32Array | None, window_size: op.Int64Array | None, axes: int, count: int
) -> tuple[Float32Array, op.Int64Array]:
    """Weights (N, 3, K) for the axes D, H, W, and half sizes (N, 3); the last `axes` are used.

    weights[i, axis, d] is the weight at distance d from the middle. Raises OperatorValueError.
    """
    sigmas = per_axis("sigma", sigma, axes, count).astype(np.float64)
    sizes = per_axis("window_size", window_size, axes, count).astype(np.int64)
    given = sigma is not None
    if count > 1 and (sigmas == sigmas[0]).all() and (sizes == sizes[0]).all():
        weights, halves = _window(tuple(sigmas[0].tolist()), tuple(sizes[0].tolist()), given)
        return weights.repeat(count, axis=0), halves.repeat(count, axis=0)
    return _windows(sigmas, sizes, given)


@lru_cache(maxsize=8)
def _window(
    sigmas: tuple[float, ...], sizes: tuple[int, ...], given: bool
) -> tuple[Float32Array, op.Int64Array]:
    """Those of one sample."""
    return _windows(np.array([sigmas]), np.array([sizes], np.int64), given)


def _windows(
    sigmas: Float64Array, sizes: op.Int64Array, given: bool
) -> tuple[Float32Array, op.Int64Array]:
    """The windows of samples, from (N, axes). given: whether there is a `sigma`."""
    count, axes = sigmas.shape
    op.refuse_samples(~((sigmas >= 0) & (sigmas < np.inf)), "sigma", "0 or more", sigmas)
    op.refuse_samples(
        (sizes < 0) | ((sizes > 0) & (sizes % 2 == 0)), "window_size", "odd, or 0", sizes
    )
    name = "sigma" if given else "window_size"
    op.refuse_samples(
        (sizes == 0) & (sigmas == 0), name, "a `sigma` or a `window_size` that is not 0", sizes
    )
    reach = (2 * np.ceil(np.minimum(3 * sigmas, 1e9))).astype(np.int64)
    sizes = np.where(sizes == 0, reach, sizes)
    sizes |= 1
    op.refuse_samples(sizes > _MOST, "window_size", f"a window of at most {_MOST} pixels", sizes)
    halves = sizes // 2
    sigmas = np.where(sigmas == 0, 0.3 * (halves - 1) + 0.8, sigmas)
    distances = np.arange(halves.max(initial=0) + 1)
    with np.errstate(over="ignore"):
        values = decay(0.5 * (distances / sigmas[..., None]) ** 2)
    values[distances > halves[..., None]] = 0
    total = values[..., 0] + 2 * values[..., :0:-1].cumsum(axis=-1)[..., -1:].sum(axis=-1)
    weights = np.zeros((count, 3, len(distances)), np.float32)
    weights[:, :, 0] = 1
    weights[:, 3 - axes :] = values / total[..., None]
    result = np.zeros((count, 3), np.int64)
    result[:, 3 - axes :] = halves
    return weights, result
