"""`patch_blocks`, `patch_rows`, `patch_grid`: the parts of `patches`, which compiled graphs hold.

The first makes all values, with one output, so that it can end a fused group; the others read its
shape, and give its memory another one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.views import view_of
from gradiva.eager.operators.fusion_roles import PatchGrid, ToPatches

from .geometry import PatchPlan, check_patches, cut, flat_shapes, grid_shapes, packed
from .kernel import cut_samples


@op.operator("patch_blocks", bfloat16=True)
def patch_blocks(
    input: op.SampleType,
    /,
    *,
    patch_size: int,
    merge_size: int = 1,
    temporal: int = 1,
    layout: str = "flat",
) -> op.SampleType:
    """Cut images into patches, in blocks that stand together.

    Args:
        input: any dtype, and the layouts that `patches` takes.
        patch_size, merge_size, temporal, layout: as of `patches`.

    Returns:
        (t, h, w, patches of a block, values), where h and w count blocks.

    Raises:
        OperatorValueError: with the sample, for sides that are no multiples.
        OperatorTypeError: for other layouts.
    """
    check_patches(input, patch_size, merge_size, temporal, layout)
    return input.with_(ndim=5, layout="")


@patch_blocks.shapes
def _block_shapes(call: op.Call) -> PatchPlan:
    facts, grids, sizes = cut(call)
    side = facts[:, 8]
    shapes = np.stack(
        [grids[:, 0], grids[:, 1] // side, grids[:, 2] // side, side * side, sizes], axis=1
    )
    return PatchPlan(packed(shapes), facts, grids, sizes)


@patch_blocks.cpu
def _cut_blocks(call: op.Call, plan: PatchPlan) -> None:
    cut_samples(call, plan)


def _grid(call: op.Call) -> PatchGrid:
    merge = call["merge_size"] if call["layout"] == "flat" else 1
    return PatchGrid(call["patch_size"], merge, call["temporal"])


patch_blocks.fusion_role = ToPatches(_grid)


@op.operator("patch_rows", bfloat16=True)
def patch_rows(input: op.SampleType, /, *, layout: str = "flat") -> op.SampleType:
    """The blocks of `patch_blocks` as (patches, values), or (t, h, w, values), in the same memory.

    Args:
        input: of `patch_blocks`.
        layout: that it was given.

    Returns:
        The patches.

    Raises:
        OperatorTypeError: for samples of another rank.
    """
    op.require_ndim(input, (5,))
    return input.with_(ndim=2 if layout == "flat" else 4, layout="")


def _sides(call: op.Call) -> tuple[Any, Any]:
    """(grids, sizes) of the blocks that come in."""
    shapes = call.inputs[0].batch_shape.shapes
    side = np.sqrt(shapes[:, 3:4]).astype(np.int64)
    return np.concatenate([shapes[:, :1], shapes[:, 1:3] * side], axis=1), shapes[:, 4]


@patch_rows.shapes
def _row_shapes(call: op.Call) -> op.BatchShape:
    grids, sizes = _sides(call)
    return packed((flat_shapes if call["layout"] == "flat" else grid_shapes)(grids, sizes))


@patch_rows.view
def _rows(call: op.Call) -> op.Batch:
    return view_of(call.inputs[0], call.types[0], call.batch_shapes[0])


@op.operator("patch_grid", bfloat16=True)
def patch_grid(input: op.SampleType, /) -> op.SampleType:
    """The grid of the blocks of `patch_blocks`: (t, h, w) in patches.

    Args:
        input: of `patch_blocks`.

    Returns:
        Three numbers, int64.

    Raises:
        OperatorTypeError: for samples of another rank.
    """
    op.require_ndim(input, (5,))
    return op.SampleType(op.int64, 1, "", input.device)


patch_grid.metadata = True
patch_grid.shapes(lambda call: op.BatchShape.equal(call.size, (3,)))


@patch_grid.cpu
def _write_grid(call: op.Call) -> None:
    call.outputs[0].as_array()[:] = _sides(call)[0]


@patch_blocks.cases
def _block_cases() -> list[op.Case]:
    images = op.samples((8, 12, 3), (4, 4, 3))
    return [
        op.case("blocks", images, patch_size=2, merge_size=2).no_oracle(),
        op.case("grid", images, patch_size=2, temporal=2, layout="grid").no_oracle(),
        op.case("empty", op.samples(), patch_size=4).no_oracle(),
        op.case("no multiple", images, patch_size=3).value_error("sample 0"),
        op.case("no size", images, patch_size=0).value_error("`patch_size`"),
    ]


@patch_rows.cases
def _row_cases() -> list[op.Case]:
    blocks = op.samples((1, 2, 3, 4, 12), (2, 1, 1, 4, 12), layout="")
    rows = [one.reshape(-1, 12) for one in blocks.arrays()]
    return [
        op.case("flat", blocks).equals(rows).no_oracle(),
        op.case("grid", op.samples((1, 2, 3, 1, 12), layout=""), layout="grid").no_oracle(),
        op.case("empty", op.samples(layout="FDHWC")).no_oracle(),
        op.case("half", op.samples((1, 1, 1, 4, 2), dtype=op.float16, layout="")).no_oracle(),
        op.case("rank", op.samples((4, 4, 3))).type_error("axes"),
    ]


@patch_grid.cases
def _grid_cases() -> list[op.Case]:
    blocks = op.samples((1, 2, 3, 4, 12), (2, 1, 1, 4, 12), layout="")
    half = op.samples((3, 2, 1, 1, 2), dtype=op.float16, layout="")
    return [
        op.case("half", half).equals([np.array((3, 2, 1))]).no_oracle(),
        op.case("gray", op.samples((1, 2, 2, 9, 4), layout="")).no_oracle(),
        op.case("grid", blocks).equals([np.array(g) for g in ((1, 4, 6), (2, 2, 2))]).no_oracle(),
        op.case("empty", op.samples(layout="FDHWC")).no_oracle(),
        op.case("rank", op.samples((4, 4, 3))).type_error("axes"),
    ]
