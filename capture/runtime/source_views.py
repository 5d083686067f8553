"""Combines windows and flips into one view of a source, and finds where a resize begins to read
it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import SourceWindow
from gradiva.eager.types.arrays import Int64Array

from .fusion_report import NotFusableError, Reason


def composed(calls: Sequence[Call], at: int) -> SourceWindow | None:
    """Several windows and flips as one; None if there are none. at: the index of H among the
    axes."""
    result: SourceWindow | None = None
    for call in calls:
        view = call.operator.fusion_role.window(call)
        if view is None:
            raise NotFusableError(Reason.MEMBER, call.operator.name, call)
        if result is None:
            result = view
            continue
        outer = call.inputs[0].batch_shape.shapes
        inner = call.batch_shapes[0].shapes
        height, width = outer[:, at] - inner[:, at], outer[:, at + 1] - inner[:, at + 1]
        result = SourceWindow(
            result.top + np.where(result.upside_down, height - view.top, view.top),
            result.left + np.where(result.mirror, width - view.left, view.left),
            result.mirror ^ view.mirror,
            result.upside_down ^ view.upside_down,
        )
    return result


def first_pixels(view: SourceWindow | None, size: int) -> Int64Array:
    """(2, N): row and column of the upper left corner of the window of each sample."""
    if view is None:
        return np.zeros((2, size), np.int64)
    return np.stack(np.broadcast_arrays(view.top, view.left, np.arange(size)))[:2]


def first_rows(view: SourceWindow | None, heights: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(2, N): the row and column of the source at which the view begins; and (N,): the direction of
    its rows, 1 for down and -1 for up. heights: of the view."""
    size = len(heights)
    inside, way = first_pixels(view, size), np.ones(size, np.int64)
    if view is not None and view.upside_down.any():
        inside[0] += np.where(view.upside_down, np.maximum(heights - 1, 0), 0)
        way -= 2 * view.upside_down
    return inside, way
