"""Boxes of a whole batch as rows of one array, and the rows that an operator keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op

Array = NDArray[Any]


@dataclass(frozen=True)
class BoxRows:
    """values: (total, width); of each sample, `counts` rows from `starts` on."""

    values: Array
    starts: op.Int64Array
    counts: op.Int64Array

    def sample(self, row: int) -> int:
        """Whose row it is."""
        return int(np.searchsorted(self.starts + self.counts, row, side="right"))


def box_rows(boxes: op.Batch, width: int) -> BoxRows:
    """The boxes of a 2-D batch, (n, width) each, in its dtype; a view where memory allows it."""
    counts = boxes.geometry.shapes[:, 0]
    if boxes.geometry.dense:
        values = boxes.data[: boxes.geometry.size]
    else:
        values = np.concatenate([np.empty(0, boxes.data.dtype), *map(np.ravel, boxes.arrays())])
    return BoxRows(values.reshape(-1, width), np.cumsum(counts) - counts, counts)


@op.jit
def keep_kernel(
    source: Array,
    places: op.Int64Array,
    widths: op.Int64Array,
    kept: Array,
    starts: op.Int64Array,
    counts: op.Int64Array,
    target: Array,
    offsets: op.Int64Array,
    begin: int,
    end: int,
) -> None:
    """Copy the rows of each sample that are marked, one after the other."""
    for i in range(begin, end):
        width, there = widths[i], offsets[i]
        for row in range(counts[i]):
            if kept[starts[i] + row]:
                here = places[i] + row * width
                for k in range(width):
                    target[there + k] = source[here + k]
                there += width


def keep_rows(
    call: op.Call, number: int, source: Array, places: op.Int64Array, kept: Array, rows: BoxRows
) -> None:
    """Fill an output with the rows of flat `source` that are marked in `kept`, (total,); those of
    a sample begin at its place."""
    target = call.outputs[number]
    widths = target.geometry.shapes[:, 1:].prod(axis=1)
    call.for_samples(
        keep_kernel,
        source,
        places,
        widths,
        kept,
        rows.starts,
        rows.counts,
        target.data,
        target.geometry.offsets,
        work=target,
    )
