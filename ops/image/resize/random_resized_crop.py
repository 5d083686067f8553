"""`random_resized_crop`: a random window of each sample, resampled to one size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.ops.random.crop_window import check_window_arguments, random_windows

from .arguments import ResizeBuffers, ResizeFilters, SampledResize, filters_of
from .compat import check_compat, compat_filters, compat_libraries
from .plan import ResizePlan
from .resize import DTYPES, launch_plan, region_map, resize, run_plan

_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW")
_ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC"}
_LARGEST = 1 << 24


@op.operator("random_resized_crop", schema="RandomResizedCrop", random=True)
@op.uses_arguments(..., ResizeFilters, "compat", "dtype", ResizeBuffers)
def random_resized_crop(
    input: op.SampleType,
    /,
    *,
    size: op.Ints,
    random_area: op.Floats = (0.08, 1.0),
    random_aspect_ratio: op.Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    compat: str | None = None,
    dtype: op.DTypeLike | None = None,
    **options: op.Unpack[SampledResize],
) -> op.SampleType:
    """Resize a random window of each sample to one size.

    Args:
        input: uint8, int8, uint16, int16 or float32; layouts HWC, CHW, HW, sequences with F, whose
            frames share a window. Without a layout HW, HWC or FHWC by rank.
        size: (h, w) of the output in pixels, or one number for both.
        random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`: with the
            same seed both take the same windows. At the edges of a window the filters also read the
            pixels of the image outside of it, which a crop before `resize` would have removed.
        dtype: the element type of the output: that of the input (default) or float32.
        compat: "pil", "opencv" or "torchvision": as in `resize`; the window is cut out first, as by
            torchvision's RandomResizedCrop. The window itself is drawn as always.

    Returns:
        Samples of the size `size`.

    Raises:
        OperatorValueError: for bad sizes and ranges, and for samples without pixels.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        gradiva.random_resized_crop(images, size=(224, 224)).shape
        # [(224, 224, 3), (224, 224, 3)]
    """
    op.require_dtype(input, DTYPES)
    layout = op.require_layout(input, _LAYOUTS, _ASSUMED)
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    _height_and_width(size)
    if compat is not None:
        check_compat(compat, input, layout, dtype, options)
    return own_or_float32(op.with_layout(input, layout), dtype)


def _height_and_width(size: Any) -> tuple[int, int]:
    extents = tuple(np.atleast_1d(size).tolist())
    if len(extents) not in (1, 2) or not all(1 <= extent <= _LARGEST for extent in extents):
        raise op.wrong_value("size", f"(h, w), from 1 to {_LARGEST} pixels", size)
    return extents[0], extents[-1]


@random_resized_crop.shapes
def _shapes(call: op.Call) -> ResizePlan:
    source = call.inputs[0].batch_shape
    layout = call.types[0].layout or ""
    axes = [layout.index("H"), layout.index("W")]
    inputs = source.shapes[:, axes]
    windows = random_windows(call, inputs[:, 0], inputs[:, 1])
    sizes = np.tile(np.array(_height_and_width(call["size"]), np.int64), (call.size, 1))
    low = windows[:, :2].astype(np.float64)
    high = low + windows[:, 2:]
    if call["compat"] is None:
        filters = filters_of(call, sizes, low, high)
    else:
        filters = compat_filters(call)
    shapes = source.shapes.copy()
    shapes[:, axes] = sizes
    return ResizePlan(shapes, inputs, sizes, low, high, filters, crop=True)


random_resized_crop.coordinate_map(region_map)
random_resized_crop.not_serializable("compat")
random_resized_crop.libraries = compat_libraries
random_resized_crop.cpu(run_plan)
random_resized_crop.gpu(launch_plan)
random_resized_crop.fusion_role = resize.fusion_role


@random_resized_crop.cases
def _cases() -> list[op.Case]:
    images = op.samples((12, 16, 3), (9, 7, 3), (1, 30, 3))
    planes = op.samples((3, 8, 6), (3, 5, 5), dtype=op.float32, layout="CHW")
    frames = op.samples((2, 6, 8, 3), layout="FHWC", dtype=op.int16)
    small = op.samples((8, 6, 3))
    all_of_it: Any = {"num_attempts": 0, "random_aspect_ratio": (0.1, 10.0)}
    all_of_it["interp_type"] = op.InterpType.INTERP_NN
    twice = [small.at(0).repeat(2, 0).repeat(2, 1)]
    return [
        op.case("default", images, size=(5, 6), seed=1).no_oracle(),
        op.case("whole image, nearest", small, size=(16, 12), **all_of_it).equals(twice),
        op.case("planes", planes, size=4, seed=2, antialias=False).no_oracle(),
        op.case(
            "float", images, size=(7, 9), seed=3, dtype=op.float32, interp_type=[1, 2, 3]
        ).no_oracle(),
        op.case("sequence", frames, size=(3, 4), seed=4).no_oracle(),
        op.case("of torchvision", images, size=(5, 6), seed=1, compat="torchvision").no_oracle(),
        op.case("window of all, of Pillow", small, size=(16, 12), **all_of_it, compat="pil")
        .equals(twice)
        .no_oracle(),
        op.case("unknown library", images, size=4, compat="zork").value_error("torchvision"),
        op.case("empty", op.samples(), size=(4, 4)).equals([]),
        op.case("no size", images).type_error("`size`"),
        op.case("bad size", images, size=(4, 0)).value_error("`size`"),
        op.case("bad area", images, size=4, random_area=(0.5, 0.1)).value_error("`random_area`"),
        op.case("no pixels", op.samples((0, 4, 3)), size=4).value_error("sample 0"),
        op.case("bad dtype", op.samples((4, 4, 3), dtype=op.float64), size=4).type_error("float64"),
    ]
