"""Output sizes and source regions of `resize`, for a whole batch at once.

Every argument arrives resolved: None when the caller did not give it, otherwise a float64 array of
shape `(N,)` (one number per sample) or `(N, D)` (one per sample and spatial axis, in the order of
the layout: H, W or D, H, W). Which steps are float32 and which float64 follows DALI: it
makes 31 of 15 * (42 / 20), for the float32 product falls just short of 31.5.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array, Float64Array, Int64Array

_LEAST = 0.1
"""Of a pixel. The scale that was asked for is kept, but below this size: the only pixel of the
result would be made of a region that is many times larger than the input."""

Mask: TypeAlias = npt.NDArray[np.bool_]

MODES = ("default", "stretch", "not_larger", "not_smaller")

# A source region thinner than this is widened by half of it on both sides.
_THINNEST = 1e-3
_ONE = np.float32(1.0)
_FARTHEST = 2.0**31
_REACH = 65536
_LARGEST = 2.0**24
"""All whole numbers up to it are float32 values."""
_ROUNDINGS = ("round", "truncate", "ceil")


def _requested(shape: tuple[int, int], arguments: dict[str, Float64Array | None]) -> Float32Array:
    """The size asked for on each axis; 0 where the caller left it open."""
    n, d = shape
    separate = ("resize_z", "resize_y", "resize_x")
    given = [k for k in ("size", "resize_shorter", "resize_longer") if arguments[k] is not None]
    if any(arguments[k] is not None for k in separate):
        given.append("resize_x/resize_y/resize_z")
    if len(given) != 1:
        raise op.OperatorValueError(
            "give exactly one of size, resize_x/resize_y/resize_z, resize_shorter, resize_longer; "
            f"got {', '.join(given) or 'none of them'}"
        )
    if given[0] == "size":
        return _checked("size", arguments["size"], (n, d))
    if given[0] in ("resize_shorter", "resize_longer"):
        return np.repeat(_checked(given[0], arguments[given[0]], (n,))[:, None], d, axis=1)
    wanted = np.zeros((n, d), np.float32)
    for axis, name in enumerate(separate[3 - d :]):
        if arguments[name] is not None:
            wanted[:, axis] = _checked(name, arguments[name], (n,))
    return wanted


def _checked(name: str, value: Float64Array | None, shape: tuple[int, ...]) -> Float32Array:
    """The argument as float32. DALI crashes on a NaN, so refuse what is not finite."""
    assert value is not None
    assert value.shape == shape
    bad = ~(np.abs(value) <= _FARTHEST)
    op.refuse_samples(bad, name, f"finite numbers, of at most {_FARTHEST:.0f}", value)
    return value.astype(np.float32)


def _check_reach(name: str, ends: Float64Array, in_sizes: Int64Array) -> None:
    """The taps of a pixel grow with the region: refuse one that is nearly all outside."""
    bad = (ends < -_REACH) | (ends > in_sizes + _REACH)
    expected = f"a region that ends within {_REACH} pixels of the image"
    op.refuse_samples(bad, name, expected, lambda _: f"{ends[bad][0]:g} pixels")


def _region(
    in_sizes: Int64Array,
    roi_start: Float64Array | None,
    roi_end: Float64Array | None,
    relative: bool,
) -> tuple[Float32Array, Float32Array, Mask]:
    """The region with lo <= hi, and which axes it mirrors."""
    if (roi_start is None) != (roi_end is None):
        got = "roi_end" if roi_start is None else "roi_start"
        raise op.OperatorValueError(
            f"give both `roi_start` and `roi_end`, or neither; got only `{got}`"
        )
    whole = in_sizes.astype(np.float32)
    if roi_start is None:
        return np.zeros_like(whole), whole, np.zeros(whole.shape, np.bool_)
    shape = (whole.shape[0], whole.shape[1])
    start = _checked("roi_start", roi_start, shape).astype(np.float64)
    end = _checked("roi_end", roi_end, shape).astype(np.float64)
    if relative:
        start, end = start * in_sizes, end * in_sizes
    _check_reach("roi_start", start, in_sizes)
    _check_reach("roi_end", end, in_sizes)
    lo, hi = np.minimum(start, end), np.maximum(start, end)
    widen = np.where(hi - lo < _THINNEST, _THINNEST / 2.0, 0.0)
    return (lo - widen).astype(np.float32), (hi + widen).astype(np.float32), start > end


def _whole_to(
    in_sizes: Int64Array, size: Float64Array
) -> tuple[Int64Array, Float64Array, Float64Array] | None:
    """What `resize_geometry` says where whole images become whole numbers of pixels, as nearly
    always: nothing is rounded, adjusted or mirrored. None where they do not."""
    whole = (np.floor(size) == size) & (size >= 1.0) & (size <= _LARGEST)
    if not (whole & (in_sizes > 0)).all():
        return None
    high = in_sizes.astype(np.float32).astype(np.float64)
    return size.astype(np.int64), np.zeros(size.shape), high


def _exact_sizes(
    mode: str, wanted: Float32Array, extent: Float32Array, limit: Float32Array | None
) -> Float32Array:
    """Output sizes before rounding, for requests that are not negative (0: left open)."""
    given = wanted != 0
    scale = np.where(given, wanted / extent, _ONE)
    if mode in ("default", "stretch"):
        free = extent
        if mode == "default":
            count = np.maximum(given.sum(axis=1, keepdims=True), 1)
            common = scale.astype(np.float64).prod(axis=1, keepdims=True)
            free = extent * (common ** (1.0 / count)).astype(np.float32)
        exact = np.where(given, wanted, free)
        return exact if limit is None else np.minimum(exact, limit)
    if mode == "not_larger":
        common = np.where(given, scale, np.float32(np.inf)).min(axis=1, keepdims=True)
    else:
        common = np.where(given, scale, np.float32(0.0)).max(axis=1, keepdims=True)
    # The axis that sets the scale keeps the number it was given.
    exact = np.where(given & (scale == common), wanted, extent * common)
    if limit is not None:
        for axis in range(extent.shape[1]):
            top, over = limit[:, axis], exact[:, axis] > limit[:, axis]
            shrink = np.where(over, top, 0.0) / extent[:, axis].astype(np.float64)
            exact = np.where(over[:, None], extent * shrink[:, None], exact).astype(np.float32)
            exact[:, axis] = np.where(over, top, exact[:, axis])
    return exact


def resize_geometry(
    in_sizes: Int64Array,
    *,
    size: Float64Array | None = None,
    resize_x: Float64Array | None = None,
    resize_y: Float64Array | None = None,
    resize_z: Float64Array | None = None,
    resize_shorter: Float64Array | None = None,
    resize_longer: Float64Array | None = None,
    mode: str | None = None,
    max_size: Float64Array | None = None,
    subpixel_scale: bool = True,
    roi_start: Float64Array | None = None,
    roi_end: Float64Array | None = None,
    roi_relative: bool = False,
    size_rounding: str = "round",
    alignment: Float64Array | None = None,
) -> tuple[Int64Array, Float64Array, Float64Array]:
    """Output sizes `(N, D)` int64 and the source region's lo, hi `(N, D)` float64.

    `in_sizes` is `(N, D)`; `size`, `max_size`, `roi_start`, `roi_end` are `(N, D)` and the other
    numbers `(N,)`, all float64, or None when not given; `mode` is a str, or None when not given.
    lo > hi says that the axis is mirrored. An axis of no elements stays at 0. There are 2 or 3 axes
    where they have names, any number with `size`. `alignment` (N, D), from 0 to 1: the place of the
    region that does not move when it is adjusted; its middle by default.
    """
    n, d = in_sizes.shape
    numbers = (resize_x, resize_y, resize_z, resize_shorter, resize_longer, max_size)
    others = [one for one in (*numbers, roi_start, roi_end) if one is not None]
    usual = mode in (None, "default", "stretch") and size_rounding in _ROUNDINGS
    if size is not None and usual and not others:
        plain = _whole_to(in_sizes, size)
        if plain is not None:
            return plain
    wanted = _requested(
        (n, d),
        {
            "size": size,
            "resize_x": resize_x,
            "resize_y": resize_y,
            "resize_z": resize_z,
            "resize_shorter": resize_shorter,
            "resize_longer": resize_longer,
        },
    )
    chosen = mode
    if resize_shorter is not None or resize_longer is not None:
        one = "resize_shorter" if resize_shorter is not None else "resize_longer"
        if mode is not None:
            raise op.wrong_value("mode", f"none beside `{one}`", repr(mode))
        chosen = "not_smaller" if resize_shorter is not None else "not_larger"
    elif mode is None:
        chosen = "default"
    if chosen not in MODES:
        raise op.wrong_value("mode", f"one of {', '.join(MODES)}", repr(mode))
    limit: Float32Array | None = None
    if max_size is not None:
        limit = _checked("max_size", max_size, (n, d))
        limit = np.where((limit > 0) & (in_sizes > 0), limit, np.float32(np.inf))
    lo32, hi32, mirrored = _region(in_sizes, roi_start, roi_end, roi_relative)
    empty = in_sizes == 0
    flip = np.signbit(wanted) ^ mirrored
    wanted = np.where(empty, np.float32(0.0), np.abs(wanted))
    extent = np.where(empty, _ONE, hi32 - lo32)
    given = wanted != 0
    asked = given.any(axis=1, keepdims=True)
    exact = np.where(asked, _exact_sizes(chosen, wanted, extent, limit), extent)
    # An axis left open ignores a mirrored region in these modes, and everywhere if all are open.
    flip &= given if chosen in ("default", "stretch") else asked
    least = np.where(empty.any(axis=1, keepdims=True), 0.0, 1.0)
    rounded = {
        "round": np.floor(exact.astype(np.float64) + 0.5),
        "truncate": np.trunc(exact),
        "ceil": np.ceil(exact),
    }
    if size_rounding not in rounded:
        raise op.wrong_value("size_rounding", f"one of {', '.join(rounded)}", repr(size_rounding))
    out = np.maximum(rounded[size_rounding], least)
    out = np.where(empty, 0.0, out)
    lo, hi = lo32.astype(np.float64), hi32.astype(np.float64)
    if subpixel_scale:
        # Keep the scale that was asked for: the region grows or shrinks with the rounding.
        change = out / np.maximum(exact.astype(np.float64), _LEAST)
        if alignment is None:
            middle, half = (lo + hi) / 2.0, (hi - lo) / 2.0
            low, high = middle - half * change, middle + half * change
        else:
            low = lo + (hi - lo) * alignment * (1.0 - change)
            high = low + (hi - lo) * change
        lo, hi = np.where(change == 1.0, lo, low), np.where(change == 1.0, hi, high)
        # The kernels start from float32 ends; without this, nearest neighbor would differ.
        lo, hi = lo.astype(np.float32).astype(np.float64), hi.astype(np.float32).astype(np.float64)
    return out.astype(np.int64), np.where(flip, hi, lo), np.where(flip, lo, hi)
