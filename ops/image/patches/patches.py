"""`patches`: images and videos cut into patches, as vision-language models read them."""

from __future__ import annotations

from gradiva.eager import extension as op
from gradiva.eager.operators.decomposition import Branches, CompositeCall

from .geometry import PatchPlan, check_patches, cut, flat_shapes, grid_shapes, packed
from .kernel import cut_samples
from .patch_blocks import patch_blocks, patch_grid, patch_rows


@op.operator("patches", bfloat16=True)
def patches(
    input: op.SampleType,
    /,
    *,
    patch_size: int,
    merge_size: int = 1,
    temporal: int = 1,
    layout: str = "flat",
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Cut images into square patches, one row of values for each patch.

    A row has the values of its patch in the order (channel, frame, row, column). The batch is one
    piece of memory without gaps: `pixel_values` returns the patches of all samples as one array,
    which models such as Qwen2-VL take, without a copy.

    Args:
        input: any dtype; layouts HWC, CHW, HW, sequences with F. Without a layout HW, HWC or FHWC
            by rank.
        patch_size: the side of a patch, in pixels.
        merge_size: the side, in patches, of the blocks whose patches stand together with
            layout="flat": block after block, row by row in each, as Qwen2-VL joins them. Both sides
            of a sample are multiples of patch_size * merge_size.
        temporal: the frames of a patch. The last frame of a sequence is repeated to fill the last
            patches, and an image is repeated in all of them.
        layout: "flat" for patches one after the other, or "grid" for patches by frame, row and
            column of the grid, whatever `merge_size` is.

    Returns:
        The patches, (patches, values) or (t, h, w, values), of the input's dtype, and the grid,
        (t, h, w) in patches, int64. values is channels * temporal * patch_size ** 2.

    Raises:
        OperatorValueError: with the sample, for sides that are no multiples; for sizes that are not
            positive.
        OperatorTypeError: for other layouts.

    Example:
        image = gradiva.resize(gradiva.imread("cat.jpg"), size=(56, 84))
        rows, grid_thw = gradiva.patches(image, patch_size=14, merge_size=2, temporal=2)
        rows.shape  # (24, 1176)
        grid_thw  # [1, 4, 6]
    """
    check_patches(input, patch_size, merge_size, temporal, layout)
    ndim = 2 if layout == "flat" else 4
    return input.with_(ndim=ndim, layout=""), op.SampleType(op.int64, 1, "", input.device)


@patches.shapes
def _shapes(call: op.Call) -> PatchPlan:
    facts, grids, sizes = cut(call)
    shapes = flat_shapes if call["layout"] == "flat" else grid_shapes
    made = packed(shapes(grids, sizes)), op.BatchShape.equal(call.size, (3,))
    return PatchPlan(made, facts, grids, sizes)


@patches.cpu
def _cpu(call: op.Call, plan: PatchPlan) -> None:
    cut_samples(call, plan)
    call.outputs[1].as_array()[:] = plan.grids


@patches.decomposes
def _parts(call: CompositeCall) -> Branches:
    names = ("patch_size", "merge_size", "temporal", "layout")
    chain = [call.part(patch_blocks.name, *names)]
    return Branches(chain, [call.part(patch_rows.name, "layout"), call.part(patch_grid.name)])


@patches.cases
def _cases() -> list[op.Case]:
    images = op.samples((8, 12, 3), (4, 4, 3), (16, 8, 3))
    planes = op.samples((3, 8, 4), (3, 4, 4), dtype=op.float32, layout="CHW")
    frames = op.samples((3, 4, 8, 3), layout="FHWC", dtype=op.int16)
    gray = op.samples((4, 6), layout="HW", dtype=op.float16)
    return [
        op.case("flat", images, patch_size=4).no_oracle(),
        op.case("blocks", op.samples((8, 12, 3)), patch_size=2, merge_size=2).no_oracle(),
        op.case("grid", images, patch_size=2, merge_size=2, layout="grid").no_oracle(),
        op.case("planes", planes, patch_size=4, temporal=2).no_oracle(),
        op.case("frames", frames, patch_size=2, merge_size=2, temporal=2).no_oracle(),
        op.case("gray", gray, patch_size=2).no_oracle(),
        op.case("empty", op.samples(), patch_size=4).no_oracle(),
        op.case("no multiple", images, patch_size=3).value_error("sample 0"),
        op.case("no block", images, patch_size=4, merge_size=2).value_error("4 x 2 pixels"),
        op.case("no size", images, patch_size=0).value_error("`patch_size`"),
        op.case("no frames", images, patch_size=4, temporal=0).value_error("`temporal`"),
        op.case("unknown layout", images, patch_size=4, layout="HWC").value_error("`layout`"),
        op.case("volume", op.samples((2, 4, 4, 1), layout="DHWC"), patch_size=2).type_error(
            "layout"
        ),
    ]
