"""`smart_resize`: sizes that consist of whole patches, for vision-language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Resample
from gradiva.eager.types.arrays import Int64Array
from gradiva.ops.image.resize.compat import (
    OWN,
    check_compat,
    compat_filters,
    compat_libraries,
    may_fuse,
    resamples_here,
)
from gradiva.ops.image.resize.gpu import resample_launches
from gradiva.ops.image.resize.plan import ResizePlan
from gradiva.ops.image.resize.resize import (
    ASSUMED,
    DTYPES,
    launch_plan,
    region_map,
    resample_tables,
    run_plan,
)
from gradiva.ops.image.resize.run import expect_images, resample_calls, rounding

from .geometry import check_sizes

_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW")
_FILTERS = range(6)
MOST_ASPECT = 200
"""The greatest ratio of the longer side to the shorter one."""


@op.operator("smart_resize")
def smart_resize(
    input: op.SampleType,
    /,
    *,
    patch_size: int = 14,
    merge_size: int = 2,
    min_pixels: op.IntArg = 56 * 56,
    max_pixels: op.IntArg = 28 * 28 * 1280,
    interp_type: op.InterpArg = op.InterpType.INTERP_CUBIC,
    compat: str = "pil",
    antialias: bool = True,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Resize images to sizes that consist of whole patches, within a range of areas.

    Each side is rounded to a multiple of f = patch_size * merge_size, halves to even. If the area
    of that is above `max_pixels`, both sides of the input are divided by sqrt(area / max_pixels),
    and rounded down to a multiple of f, at least f; if it is below `min_pixels`, they are
    multiplied by sqrt(min_pixels / area), and rounded up. So the aspect ratio is nearly kept. The
    rule and the defaults are those of the image processors of Qwen2-VL in `transformers`, and so is
    the filter: Pillow's bicubic one.

    Args:
        input: uint8, int8, uint16, int16 or float32; with `compat`, what `resize` takes there.
            Layouts HWC, CHW, HW, sequences with F. Without a layout HW, HWC or FHWC by rank.
        patch_size: the side of a patch, in pixels.
        merge_size: how many patches the model joins into one, along each side.
        min_pixels, max_pixels: the least and the greatest area, in pixels; may differ per sample.
            The greatest is exceeded where it leaves no room for sides of f pixels.
        interp_type: the filter; CUBIC by default; may differ per sample.
        compat: as of `resize`: the bits of "pil" (default), "torchvision" or "opencv"; or
            "gradiva", for what `resize` gives without `compat`.
        antialias: as of `resize`.

    Returns:
        Samples whose sides are multiples of f.

    Raises:
        OperatorValueError: for a sample whose longer side is more than 200 times the shorter one,
            or that has no pixels; for sizes and areas that are not positive.
        OperatorTypeError: for other dtypes and layouts.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        gradiva.smart_resize(images).shape  # [(308, 448, 3), (392, 588, 3)]
        gradiva.smart_resize(images, max_pixels=256 * 784).shape  # [(308, 448, 3), (364, 532, 3)]
    """
    op.require_dtype(input, DTYPES)
    layout = op.require_layout(input, _LAYOUTS, ASSUMED)
    check_sizes(patch_size=patch_size, merge_size=merge_size)
    if compat != OWN:
        check_compat(compat, input, layout, None, {"antialias": antialias})
    return op.with_layout(input, layout)


def smart_sizes(
    inputs: Int64Array, factor: int, min_pixels: Int64Array, max_pixels: Int64Array
) -> Int64Array:
    """The output sizes (N, 2) for inputs of (h, w): both sides are multiples of `factor`.

    Raises OperatorValueError.
    """
    for name, pixels in (("min_pixels", min_pixels), ("max_pixels", max_pixels)):
        op.refuse_samples(pixels < 1, name, "a positive number of pixels", pixels)
    expected = "no more than `max_pixels`"
    op.refuse_samples(min_pixels > max_pixels, "min_pixels", expected, min_pixels)
    short, long = inputs.min(axis=1), inputs.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        bad = ~(long / short <= MOST_ASPECT)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        height, width = inputs[sample].tolist()
        raise op.OperatorValueError(
            "the aspect ratio of an image is too large",
            expected=f"sides of which one is at most {MOST_ASPECT} times the other",
            got=f"{height} x {width} pixels",
            sample=sample,
        )
    sizes = np.rint(inputs / factor) * factor
    area, pixels = sizes.prod(axis=1), inputs.prod(axis=1)
    shrinking = np.sqrt(pixels / max_pixels)[:, None]
    smaller = np.maximum(np.floor(inputs / shrinking / factor) * factor, factor)
    growing = np.sqrt(min_pixels / pixels)[:, None]
    larger = np.ceil(inputs * growing / factor) * factor
    sizes = np.where((area < min_pixels)[:, None], larger, sizes)
    return np.where((area > max_pixels)[:, None], smaller, sizes).astype(np.int64)


@smart_resize.shapes
def _shapes(call: op.Call) -> ResizePlan:
    source = call.inputs[0].batch_shape
    layout = call.types[0].layout or ""
    first = layout.index("H")
    inputs = source.shapes[:, first : first + 2]
    factor = call["patch_size"] * call["merge_size"]
    sizes = smart_sizes(inputs, factor, call["min_pixels"], call["max_pixels"])
    shapes = source.shapes.copy()
    shapes[:, first : first + 2] = sizes
    low, high = np.zeros(inputs.shape), inputs.astype(np.float64)
    if call["compat"] == OWN:
        chosen = call["interp_type"]
        op.refuse_samples(
            ~np.isin(chosen, _FILTERS), "interp_type", "an interpolation such as CUBIC", chosen
        )
        filters = np.zeros((call.size, 5), np.int64)
        filters[:, 1], filters[:, 2], filters[:, 3] = chosen, chosen, call["antialias"]
        filters[:, 4] = 2
    else:
        filters = compat_filters(call)
    return ResizePlan(shapes, inputs, sizes, low, high, filters)


def _libraries(arguments: Mapping[str, Any], types: Sequence[op.SampleType]) -> tuple[str, ...]:
    """As `compat_libraries`; Pillow is the default."""
    return compat_libraries({"compat": "pil", **arguments}, types)


def _may_fuse(arguments: Mapping[str, Any], device: str) -> bool:
    """As `may_fuse`; Pillow is the default."""
    return may_fuse({"compat": "pil", **arguments}, device)


smart_resize.coordinate_map(region_map)
smart_resize.libraries = _libraries
smart_resize.fusion_role = Resample(
    resample_tables,
    resample_calls,
    rounding,
    _may_fuse,
    resample_launches,
    expect=expect_images,
    fits=resamples_here,
)
smart_resize.cpu(run_plan)
smart_resize.gpu(launch_plan)


@smart_resize.cases
def _cases() -> list[op.Case]:
    images = op.samples((30, 50, 3), (9, 70, 3), (56, 28, 3))
    planes = op.samples((3, 40, 90), dtype=op.float32, layout="CHW")
    frames = op.samples((2, 31, 40, 3), layout="FHWC")
    small: Any = {"patch_size": 4, "merge_size": 2, "min_pixels": 256, "max_pixels": 1024}
    return [
        op.case("default", images).no_oracle(),
        op.case("small patches", images, **small).no_oracle(),
        op.case("own filters", images, **small, compat=OWN).no_oracle(),
        op.case("of torchvision", planes, **small, compat="torchvision").no_oracle(),
        op.case("linear", frames, **small, interp_type=1).no_oracle(),
        op.case("areas per sample", images, patch_size=4, max_pixels=[900, 3136, 4000])
        .value_error("`min_pixels`")
        .no_oracle(),
        op.case("per sample", images, patch_size=4, min_pixels=[64, 900, 64]).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("too wide", op.samples((4, 900, 3))).value_error("aspect ratio"),
        op.case("no pixels", op.samples((0, 9, 3))).value_error("aspect ratio"),
        op.case("no patch", images, patch_size=0).value_error("`patch_size`"),
        op.case("unknown library", images, compat="zork").value_error("`compat`"),
        op.case("volume", op.samples((2, 4, 4, 1), layout="DHWC")).type_error("layout"),
        op.case("bad dtype", op.samples((4, 4, 3), dtype=op.float64)).type_error("float64"),
    ]
