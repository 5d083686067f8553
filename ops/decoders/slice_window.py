"""Where `decoders.image_slice` cuts: from its inputs and arguments to windows in pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.batch import Batch
from gradiva.eager.errors import OperatorValueError
from gradiva.eager.geometry import Int64Array
from gradiva.eager.run import Call

__all__ = ["slice_windows"]

Array = np.ndarray[Any, Any]


def slice_windows(call: Call, extents: Int64Array) -> Int64Array:
    """(N, 4): top, left, height, width, for images of the extents (N, 2): height, width.

    Ends are computed in float64 and rounded half up. Raises OperatorValueError.
    """
    axes = _axes(call)
    along = np.take_along_axis(extents, axes, axis=1)
    if len(call.inputs) == 3:
        low = _input(call, 1, along, call["normalized_anchor"])
        high = low + _input(call, 2, along, call["normalized_shape"])
    else:
        start = _argument(call, "start", along)
        low = np.zeros(along.shape) if start is None else start
        end, shape = _argument(call, "end", along), _argument(call, "shape", along)
        high = along.astype(np.float64)
        if end is not None:
            high = end
        elif shape is not None:
            high = low + shape
    windows = np.hstack([np.zeros_like(extents), extents])
    first, last = _rounded(call, low), _rounded(call, high)
    np.put_along_axis(windows, axes, first, axis=1)
    np.put_along_axis(windows, axes + 2, last - first, axis=1)
    return windows


def _rounded(call: Call, values: Array) -> Int64Array:
    bad = ~(np.abs(values) < 1 << 31)
    if bad.any():
        raise OperatorValueError(
            "the region has ends that are no pixels",
            got=str(values[bad][0]),
            sample=int(np.argwhere(bad)[0][0]),
        )
    return np.floor(values + 0.5).astype(np.int64)


def _axes(call: Call) -> Int64Array:
    """(N, k): 0 for the height, 1 for the width."""
    names, axes = call["axis_names"], call["axes"]
    if axes is None:
        letters = "WH" if names is None else names
        if not letters or set(letters) - {"H", "W"} or len(set(letters)) < len(letters):
            raise OperatorValueError(
                argument="axis_names", expected="H, W, HW or WH", got=repr(names)
            )
        return np.tile(["HW".index(letter) for letter in letters], (call.size, 1))
    wrapped: Int64Array = np.where(axes < 0, axes + 2, axes)
    bad = ((wrapped < 0) | (wrapped > 1)).any(axis=1)
    if wrapped.shape[1] > 1:
        bad |= wrapped[:, 0] == wrapped[:, 1]
    if wrapped.shape[1] not in (1, 2) or bad.any():
        raise OperatorValueError(
            argument="axes",
            expected="0 (height), 1 (width), or both",
            got=str(axes[int(np.argmax(bad))].tolist() if call.size else axes.shape[1]),
            sample=int(np.argmax(bad)) if bad.any() else None,
        )
    return wrapped


def _input(call: Call, number: int, along: Int64Array, normalized: bool) -> Array:
    given: Batch = call.inputs[number]
    lengths = given.geometry.volumes
    bad = lengths != along.shape[1]
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise OperatorValueError(
            f"the {'anchor' if number == 1 else 'shape'} has a number for each axis",
            expected=str(along.shape[1]),
            got=str(lengths[sample]),
            sample=sample,
        )
    rows = np.array([given.array(i).reshape(-1) for i in range(call.size)], np.float64)
    rows = rows.reshape(along.shape)
    return rows * along if normalized and given.data.dtype.kind == "f" else rows


def _argument(call: Call, name: str, along: Int64Array) -> Array | None:
    """`name` in pixels, or `rel_<name>` made pixels; None if neither was given."""
    for title, scale in ((name, None), (f"rel_{name}", along)):
        rows = call[title]
        if rows is None:
            continue
        if rows.shape[1] not in (1, along.shape[1]):
            raise OperatorValueError(
                argument=title,
                expected=f"1 or {along.shape[1]} numbers",
                got=str(rows.shape[1]),
            )
        wide = np.broadcast_to(rows, along.shape).astype(np.float64)
        return wide if scale is None else wide * scale
    return None
