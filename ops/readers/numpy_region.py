"""The region of an array that `readers.numpy` reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.npy_header import Header
from gradiva.ops.image.crop.crop_window import apply_policy
from gradiva.ops.indexing.slice_region import region_along, wrapped_axes

__all__ = ["Region"]


class Region(NamedTuple):
    """The part of each array that is read. given: rows of the numbers, as `slice` takes them."""

    given: dict[str, Any]
    axes: tuple[int, ...]
    policy: str

    @property
    def whole(self) -> bool:
        """Whether it is all of an array."""
        return not any(rows is not None and rows.size for rows in self.given.values())

    def of(self, header: Header) -> tuple[op.Int64Array, op.Int64Array]:
        """First element and shape. Raises OperatorValueError."""
        shapes = np.array([header.shape], np.int64)
        if self.whole:
            return np.zeros_like(shapes[0]), shapes[0]
        axes = wrapped_axes(np.array([self.axes], np.int64), len(header.shape), "roi_axes")
        found = region_along(self.given, shapes, axes)
        anchors, windows = apply_policy(shapes, *found, self.policy)
        return anchors[0], windows[0]
