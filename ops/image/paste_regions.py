"""Which parts of which samples `multi_paste` puts where: from its arguments to tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Int64Array


class Regions(NamedTuple):
    """All regions of a batch, in the order in which they are pasted.

    starts: (N + 1,), where those of each output begin; sources: (R,), the sample each is taken
    from; inputs: (R,), of which input; low, shape, place: (R, axes), int64: its low end there, its
    extents, its low end in the output. sizes: (N, axes), of the outputs.
    """

    starts: Int64Array
    sources: Int64Array
    inputs: Int64Array
    low: Int64Array
    shape: Int64Array
    place: Int64Array
    sizes: Int64Array


def paste_regions(call: op.Call, extents: list[Int64Array]) -> Regions:
    """extents: of the axes along which regions are cut, (N, axes) for each input.

    Raises OperatorValueError for regions that leave their sample or the output.
    """
    count = extents[0].shape[1]
    for name in ("in_anchors", "out_anchors", "shapes"):
        if call[name] is not None and call[f"{name}_rel"] is not None:
            raise op.OperatorValueError(f"`{name}` and `{name}_rel` exclude each other")
    starts = np.zeros(call.size + 1, np.int64)
    if call["in_ids"] is None:
        many = len(extents)
        starts[:] = np.arange(call.size + 1) * many
        sources = np.repeat(np.arange(call.size), many)
        inputs = np.tile(np.arange(many), call.size)
    else:
        if len(extents) > 1:
            raise op.OperatorValueError(
                "`in_ids` names samples of one input", expected="1 input", got=str(len(extents))
            )
        starts[1:] = np.cumsum([len(row) for row in call["in_ids"]])
        sources = np.concatenate([*call["in_ids"], np.empty(0, np.int64)])
        inputs = np.zeros(len(sources), np.int64)
        bad = (sources < 0) | (sources >= call.size)
        if bad.any():
            raise op.wrong_value(
                "in_ids",
                f"numbers from 0 to {call.size - 1}",
                sources[bad][0],
                sample=int(np.searchsorted(starts, np.argmax(bad), "right")) - 1,
            )
    within = np.stack(extents)[inputs, sources].reshape(-1, count)
    sizes = _sizes(call, np.concatenate(extents), count)
    around = np.repeat(sizes, np.diff(starts), axis=0)
    low = _numbers(call, "in_anchors", starts, within, np.floor)
    low = np.zeros_like(within) if low is None else low
    shape = _numbers(call, "shapes", starts, within, np.ceil)
    shape = within - low if shape is None else shape
    place = _numbers(call, "out_anchors", starts, around, np.floor)
    place = np.zeros_like(within) if place is None else place
    for what, begin, whole in (("its sample", low, within), ("the output", place, around)):
        # Without a sum, which could go beyond 64 bits and come out negative.
        left = ((begin < 0) | (shape < 0) | (shape > whole) | (begin > whole - shape)).any(axis=1)
        if left.any():
            first = int(np.argmax(left))
            raise op.OperatorValueError(
                f"a pasted region leaves {what}",
                expected=f"a region within {tuple(whole[first].tolist())}",
                got=f"one at {begin[first].tolist()} of shape {shape[first].tolist()}",
                sample=int(np.searchsorted(starts, first, "right")) - 1,
            )
    return Regions(starts, sources, inputs, low, shape, place, sizes)


def _sizes(call: op.Call, extents: Int64Array, count: int) -> Int64Array:
    rows = call["output_size"]
    if rows is None:
        if len(extents) and (extents != extents[0]).any():
            raise op.OperatorValueError(
                "samples of different shapes need `output_size`",
                got=f"{tuple(extents[0].tolist())} and others",
            )
        return extents[: call.size].copy()
    if call.size and (rows.shape[1] != count or (rows < 0).any()):
        bad = (rows < 0).any(axis=1)
        raise op.wrong_value(
            "output_size",
            f"{count} numbers, none below 0",
            str(rows[bad][0].tolist()) if bad.any() else f"{rows.shape[1]} numbers",
            sample=int(np.argmax(bad)) if bad.any() else None,
        )
    wide: Int64Array = rows if call.size else np.zeros((0, count), np.int64)
    return wide


def _numbers(
    call: op.Call, name: str, starts: Int64Array, extents: Int64Array, rounded: Any
) -> Int64Array | None:
    """The argument `name`, or `<name>_rel` times the extents in float32, rounded: (R, axes)."""
    for title in (name, f"{name}_rel"):
        rows = call[title]
        if rows is None:
            continue
        count = extents.shape[1]
        for sample, row in enumerate(rows):
            regions = int(starts[sample + 1] - starts[sample])
            if len(row) != regions * count:
                raise op.wrong_value(
                    title,
                    f"{regions} regions x {count} numbers",
                    f"{len(row)} numbers",
                    sample=sample,
                )
        table: Int64Array = np.concatenate([*rows, np.empty(0, np.int64)]).reshape(-1, count)
        if title == name:
            return table.astype(np.int64)
        bad = ~((table >= 0) & (table <= 1))
        if bad.any():
            first = int(np.argmax(bad.any(axis=1)))
            raise op.wrong_value(
                title,
                "fractions from 0 to 1",
                table[bad][0],
                sample=int(np.searchsorted(starts, first, "right")) - 1,
            )
        product = table.astype(np.float32) * extents.astype(np.float32)
        whole: Int64Array = rounded(product).astype(np.int64)
        return whole
    return None
