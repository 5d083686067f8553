"""What the arguments of `resize` and its kin say, for a whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .shapes import resize_geometry

_AXES = ("size", "max_size", "roi_start", "roi_end")
_NUMBERS = ("resize_x", "resize_y", "resize_z", "resize_shorter", "resize_longer")


def sizes_of(call: op.Call, inputs: op.Int64Array) -> tuple[op.Int64Array, Any, Any]:
    """What the arguments of a call make of the extents (N, axes): see `resize_geometry`."""
    return resize_geometry(
        inputs,
        **{name: per_axis(call, name, inputs.shape[1]) for name in _AXES},
        **{name: _wide(call[name]) for name in _NUMBERS},
        mode=call["mode"],
        subpixel_scale=call["subpixel_scale"],
        roi_relative=call["roi_relative"],
    )


def _wide(rows: Any) -> Any:
    return None if rows is None else rows.astype(np.float64)


def per_axis(call: op.Call, name: str, count: int) -> Any:
    """(N, axes) float64; one number stands for all axes."""
    rows = call[name]
    if rows is None:
        return None
    rows = np.asarray(rows, np.float64)
    if rows.ndim == 1:
        rows = np.broadcast_to(rows, (call.size, len(rows)))
    if rows.shape[1] not in (1, count):
        raise op.OperatorValueError(
            argument=name, expected=f"1 or {count} numbers", got=str(rows.shape[1])
        )
    return np.broadcast_to(rows, (call.size, count)).copy()


def filters_of(call: op.Call, sizes: op.Int64Array, low: Any, high: Any) -> op.Int64Array:
    """(N, 5): the filter of D, H and W, then 1 for antialiasing, then the number of axes."""
    given = {name: call[name] for name in ("interp_type", "min_filter", "mag_filter")}
    plain = given["interp_type"]
    if plain is None:
        plain = np.full(call.size, int(op.InterpType.INTERP_LINEAR), np.int64)
    for name, rows in given.items():
        bad = None if rows is None else (rows < 0) | (rows > 5)
        if bad is not None and bad.any():
            raise op.OperatorValueError(
                argument=name,
                expected="an interpolation such as types.INTERP_LINEAR",
                got=str(rows[bad][0]),
                sample=int(np.flatnonzero(bad)[0]),
            )
    shrinking = plain if given["min_filter"] is None else given["min_filter"]
    growing = plain if given["mag_filter"] is None else given["mag_filter"]
    filters = np.zeros((call.size, 5), np.int64)
    smaller = sizes < np.abs(high - low)
    filters[:, 3 - sizes.shape[1] : 3] = np.where(smaller, shrinking[:, None], growing[:, None])
    filters[:, 3] = call["antialias"]
    filters[:, 4] = sizes.shape[1]
    return filters
