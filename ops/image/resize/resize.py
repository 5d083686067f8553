"""`resize`: resample samples to another size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.execution.gpu_copies import table_launch
from gradiva.eager.operators.fusion_roles import Resample
from gradiva.eager.operators.type_rules import own_or_float32

from .arguments import (
    Resize,
    ResizeBuffers,
    ResizeFilters,
    ResizeRegion,
    ResizeSize,
    filters_of,
    sizes_of,
)
from .compat import (
    check_compat,
    check_rule,
    compat_filters,
    compat_libraries,
    compat_sizes,
    fixed_filters,
    is_own,
    may_fuse,
    resamples_here,
    run_compat,
)
from .gpu import resample_call, resample_launches
from .plan import ResizePlan
from .run import Tables, expect_images, resample_calls, resample_samples, rounding, whole_tables

DTYPES = (op.uint8, op.int8, op.uint16, op.int16, op.float32)
LAYOUTS = (
    "HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW",
    "DHWC", "CDHW", "DHW", "FDHWC", "FCDHW", "CFDHW",
)  # fmt: skip
ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC", 5: "FDHWC"}


@op.operator("resize", schema="Resize", old_arguments={"image_type": None})
@op.uses_arguments(ResizeSize, ResizeRegion, ResizeFilters, ..., ResizeBuffers)
def resize(
    input: op.SampleType,
    /,
    *,
    compat: str | None = None,
    size_rule: str | None = None,
    dtype: op.DTypeLike | None = None,
    save_attrs: bool = False,
    **options: op.Unpack[Resize],
) -> op.SampleType | tuple[op.SampleType, op.SampleType]:
    """Resize each sample along its spatial axes: H, W, and D in volumes.

    The samples are resampled axis by axis, with coefficients and sums in float32, in an order that
    is part of the result.

    Args:
        input: uint8, int8, uint16, int16 or float32; layouts HWC, CHW, HW, volumes with D,
            sequences with F. Without a layout HW, HWC, FHWC or FDHWC by rank, and the output has
            that layout.
        compat: the result of another library, bit by bit for uint8 (docs/resize.md); images only,
            and no min_filter, no mag_filter, no mirrored axes, no region beyond the image:

                              "pil"                "opencv"               "torchvision"
            NN                NEAREST              INTER_NEAREST          nearest
            LINEAR            BILINEAR             INTER_LINEAR           bilinear
            TRIANGULAR        BILINEAR             INTER_AREA             bilinear
            CUBIC             BICUBIC              INTER_CUBIC            bicubic
            LANCZOS3          LANCZOS              INTER_LANCZOS4         lanczos
            BOX, HAMMING      BOX, HAMMING         refused                refused
            NEAREST_EXACT     refused              INTER_NEAREST_EXACT    nearest-exact
            antialias         always (but NN)      INTER_AREA only        as the argument says
            dtypes            uint8 uint16 float32 the same, and int16    uint8 float32
            roi_start, _end   box=, any place      cropped first          cropped first
            resize_shorter    truncates the other  rounds, as gradiva     truncates the other
            not_larger        truncates both       rounds, as gradiva     truncates both
        size_rule: "detr", with `compat`, `resize_shorter` and `max_size`: the sizes of the image
            processors of DETR, which round the shorter side where the longer one is at its limit.
        dtype: the element type of the output: that of the input (default) or float32.
        save_attrs: also return the size of each input, int32 (h, w) or (d, h, w).

    Returns:
        Samples of the new size; with `save_attrs` also the sizes of the inputs.

    Raises:
        OperatorValueError: for sizes that contradict each other.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        gradiva.resize(images, size=(224, 224)).shape  # [(224, 224, 3), (224, 224, 3)]
        gradiva.resize(images, resize_shorter=256).shape  # [(256, 385, 3), (256, 384, 3)]
    """
    op.require_dtype(input, DTYPES)
    layout = op.require_layout(input, LAYOUTS, ASSUMED)
    if compat is not None:
        check_compat(compat, input, layout, dtype, options)
    if size_rule is not None:
        check_rule(size_rule, compat, options)
    result = own_or_float32(op.with_layout(input, layout), dtype)
    if not save_attrs:
        return result
    return result, op.SampleType(op.int32, 1, "", input.device)


@resize.shapes
def _shapes(call: op.Call) -> ResizePlan:
    source = call.inputs[0].batch_shape
    layout = call.types[0].layout or ""
    axes = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    inputs = source.shapes[:, axes]
    if call.arguments["compat"] is None:
        sizes, low, high = sizes_of(call, inputs)
        filters = filters_of(call, sizes, low, high)
    else:
        sizes, low, high = compat_sizes(call, inputs)
        filters = compat_filters(call)
    shapes = source.shapes.copy()
    shapes[:, axes] = sizes
    made: Any = shapes
    if call.arguments["save_attrs"]:
        made = shapes, np.full((call.size, 1), len(axes), np.int64)
    return ResizePlan(made, inputs, sizes, low, high, filters)


def region_map(call: op.Call, plan: ResizePlan) -> Any:
    """Where places are in a region that was resized."""
    extents = plan.high - plan.low
    scale = plan.outputs / np.where(extents == 0, 1, extents)
    return op.axis_map(scale[:, ::-1], (-plan.low * scale)[:, ::-1])


def resample_tables(call: op.Call, source: op.BatchShape, layout: str) -> Tables:
    """What the kernels need to know of each sample, for whole outputs. After the shape rule."""
    plan = call.plan
    assert isinstance(plan, ResizePlan)
    count = plan.inputs.shape[1]
    first = layout.index("D" if count == 3 else "H")
    planes = np.multiply.reduce(source.shapes[:, :first], axis=1)
    channels = np.multiply.reduce(source.shapes[:, first + count :], axis=1)
    ends = (plan.low, plan.high)
    filters = plan.filters if plan.filters.ndim == 2 else fixed_filters(call["compat"], plan)
    return whole_tables(source, planes, channels, plan.inputs, plan.outputs, ends, filters)


resize.coordinate_map(region_map)
resize.not_serializable("compat", "size_rule")
resize.libraries = compat_libraries
resize.fusion_role = Resample(
    resample_tables,
    resample_calls,
    rounding,
    may_fuse,
    resample_launches,
    expect=expect_images,
    fits=resamples_here,
)


@resize.cpu
def run_plan(call: op.Call, plan: ResizePlan) -> None:
    """The kernel."""
    source = call.inputs[0].batch_shape
    if call.arguments["compat"] is not None and not resamples_here(call):
        run_compat(call, plan)
    else:
        layout = call.types[0].layout or ""
        resample_samples(call, resample_tables(call, source, layout))
    if len(call.outputs) > 1:
        call.outputs[1].as_array()[:] = plan.inputs


@resize.gpu
def launch_plan(call: op.Call, plan: ResizePlan) -> list[op.Launch]:
    """The GPU kernel: as `run_plan`."""
    if not is_own(call["compat"]):
        raise NoGpuKernelError(
            argument="compat",
            expected="None: other libraries' results are made on the CPU",
            got=repr(call["compat"]),
        )
    launches = resample_call(
        call, resample_tables(call, call.inputs[0].batch_shape, call.outputs[0].layout)
    )
    if len(call.outputs) > 1:
        launches.append(table_launch(plan.inputs, call.outputs[1]))
    return launches


@resize.cases
def _cases() -> list[op.Case]:
    images = op.samples((12, 16, 3), (9, 7, 3), (1, 30, 3))
    planes = op.samples((3, 8, 6), (3, 5, 5), dtype=op.float32, layout="CHW")
    frames = op.samples((2, 6, 8, 3), layout="FHWC", dtype=op.int16)
    volume = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.uint16)
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    region: Any = {"roi_start": (0.9, 0.1), "roi_end": (0.2, 0.8), "roi_relative": True}
    return [
        op.case("same size", images, size=0, **nearest).equals([images.at(i) for i in range(3)]),
        op.case("twice, nearest", planes, resize_shorter=[12, 10], **nearest).equals(
            [planes.at(i).repeat(2, 1).repeat(2, 2) for i in range(2)]
        ),
        op.case("down", images, size=(5, 6)),
        op.case("shorter side", images, resize_shorter=20, max_size=64),
        op.case("longer side", images, resize_longer=[10, 11, 12], mag_filter=2),
        op.case("width", images, resize_x=10, interp_type=op.InterpType.INTERP_CUBIC),
        op.case("lanczos, float", images, size=(7, 9), interp_type=3, dtype=op.float32),
        op.case("no antialiasing", images, size=(5, 5), antialias=False),
        op.case("region, mirrored", planes, size=(6, 6), **region),
        op.case("filter per sample", images, size=(8, 8), interp_type=[0, 1, 5]),
        op.case("sequence, attributes", frames, size=(3, 4), save_attrs=True),
        op.case("volume", volume, size=(3, 4, 5), interp_type=op.InterpType.INTERP_TRIANGULAR),
        op.case("of Pillow", images, resize_shorter=6, compat="pil").no_oracle(),
        op.case(
            "of DETR", images, resize_shorter=6, max_size=40, size_rule="detr", compat="pil"
        ).no_oracle(),
        op.case("of Pillow, box", images, size=(5, 6), interp_type="box", compat="pil").no_oracle(),
        op.case("rule without a size", images, size=4, size_rule="detr", compat="pil").value_error(
            "`size_rule`"
        ),
        op.case("of OpenCV", frames, size=(9, 5), compat="opencv").no_oracle(),
        op.case(
            "of torchvision", planes, size=(3, 9), compat="torchvision", interp_type=[2, 1]
        ).no_oracle(),
        op.case("of Pillow, empty", op.samples(), size=(4, 4), compat="pil").equals([]).no_oracle(),
        op.case("unknown library", images, size=4, compat="zork").value_error("`compat`"),
        op.case("empty", op.samples(), size=(4, 4)).equals([]),
        op.case("no size", images).value_error("resize_shorter"),
        op.case("two sizes", images, size=(4, 4), resize_x=4).value_error("exactly one"),
        op.case("bad mode", images, size=4, mode="fit").value_error("mode"),
        op.case("bad dtype", op.samples((4, 4, 3), dtype=op.float64), size=4).type_error("float64"),
    ]
