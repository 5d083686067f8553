"""How images are cut into patches: the sizes of grids, and where the samples of a batch begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Int64Array

LAYOUTS: Final = ("HWC", "CHW", "HW", "FHWC", "FCHW", "FHW")
ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}
ORDERS: Final = ("flat", "grid")


@dataclass(frozen=True)
class PatchPlan(op.Plan):
    """How the samples of a call are cut.

    facts: int64, (N, 9): frames, height, width and channels, the elements of the input from one
    frame, row, pixel and channel to the next, and the side of the blocks of patches that stand
    together; grids: int64, (N, 3), patches along the frames, the height and the width; sizes: (N,),
    elements of a patch.
    """

    facts: Int64Array
    grids: Int64Array
    sizes: Int64Array


def check_patches(
    input: op.SampleType, patch_size: int, merge_size: int, temporal: int, layout: str
) -> op.SampleType:
    """The input with its layout. Raises OperatorTypeError and OperatorValueError."""
    for name, value in (
        ("patch_size", patch_size),
        ("merge_size", merge_size),
        ("temporal", temporal),
    ):
        if value < 1:
            raise op.wrong_value(name, "a positive number", value)
    if layout not in ORDERS:
        raise op.wrong_value("layout", "'flat' or 'grid'", op.describe(layout))
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def cut(call: op.Call) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(facts, grids, sizes) of a call of `patches`, see `PatchPlan`. Raises OperatorValueError."""
    source = call.inputs[0]
    layout = source.layout or ASSUMED[source.ndim]
    shapes = source.batch_shape.shapes
    patch, merge, temporal = call["patch_size"], call["merge_size"], call["temporal"]
    facts = np.ones((call.size, 9), np.int64)
    facts[:, 4:8] = 0
    step = np.ones(call.size, np.int64)
    for axis in reversed(range(len(layout))):
        column = "FHWC".index(layout[axis])
        facts[:, column], facts[:, 4 + column] = shapes[:, axis], step
        step = step * shapes[:, axis]
    facts[:, 8] = merge if call["layout"] == "flat" else 1
    unit = patch * merge
    sides = facts[:, 1:3]
    bad = (sides % unit != 0).any(axis=1)
    parts = f"{patch} pixels" if merge == 1 else f"{patch} x {merge} pixels"
    op.refuse_samples(
        bad,
        "patch_size",
        f"sides that are multiples of {parts}",
        lambda sample: "{} x {} pixels".format(*sides[sample].tolist()),
        "the patches do not fill the image (`smart_resize` makes sizes that they fill)",
    )
    grids = facts[:, :3].copy()
    grids[:, 0] = -(-grids[:, 0] // temporal)
    grids[:, 1:] //= patch
    return facts, grids, facts[:, 3] * (temporal * patch * patch)


def packed(shapes: Int64Array) -> op.BatchShape:
    """Samples that follow each other without gaps, whatever their shapes."""
    usual = op.BatchShape.of(shapes)  # checks them
    if usual.uniform:
        return usual
    ends = usual.volumes.cumsum()
    return op.BatchShape(shapes, ends - usual.volumes, int(ends[-1]), False, False)


def flat_shapes(grids: Int64Array, sizes: Int64Array) -> Int64Array:
    """(N, 2): patches and their elements."""
    return np.stack([grids.prod(axis=1), sizes], axis=1)


def grid_shapes(grids: Int64Array, sizes: Int64Array) -> Int64Array:
    """(N, 4): the grid, and the elements of a patch."""
    return np.concatenate([grids, sizes[:, np.newaxis]], axis=1)
