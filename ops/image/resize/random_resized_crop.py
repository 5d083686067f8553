"""`random_resized_crop`: a random window of each sample, resampled to one size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import DTypeLike, Floats, InterpArg, Ints
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_layout, with_layout
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Int64Array
from gradiva.eager.types.dtypes import InterpType, float32, float64, int16
from gradiva.eager.types.sample_type import SampleType
from gradiva.ops.random.crop_window import check_window_arguments, random_windows

from .compat import check_compat, note_compat
from .resize import DTYPES, check_dtype, filters_of, launch_plan, resize, run_plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Sampled

__all__ = ["random_resized_crop"]

_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW")
_ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC"}
_LARGEST = 1 << 24


@operator("random_resized_crop", random=True)
def random_resized_crop(
    input: SampleType,
    /,
    *,
    size: Ints,
    random_area: Floats = (0.08, 1.0),
    random_aspect_ratio: Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    interp_type: InterpArg | None = None,
    min_filter: InterpArg | None = None,
    mag_filter: InterpArg | None = None,
    antialias: bool = True,
    compat: str | None = None,
    dtype: DTypeLike | None = None,
    minibatch_size: int = 32,
    temp_buffer_hint: int = 0,
    **common: Unpack[Sampled],
) -> SampleType:
    """Resample a random window of each sample to one size.

    input: uint8, int8, uint16, int16 or float32; layouts HWC, CHW, HW, sequences with F, whose
        frames share a window. Without a layout HW, HWC or FHWC by rank.
    size: (h, w) of the output in pixels, or one number for both.
    random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`, which takes
        the same window for the same key. Unlike `resize` after it, the filters look beyond the
        window where the image goes on.
    interp_type, min_filter, mag_filter, antialias, dtype: as in `resize`.
    compat: "pil", "opencv" or "torchvision": as in `resize`; the window is cut out first, as by
        torchvision's RandomResizedCrop. The window itself is drawn as always.
    minibatch_size, temp_buffer_hint: steer buffers on a GPU; there is nothing to steer on the CPU.
    rng, seed: see `gradiva.random`.

    Raises OperatorValueError for bad sizes and ranges, and for samples without pixels.
    """
    require_dtype(input, DTYPES)
    layout = require_layout(input, _LAYOUTS, _ASSUMED)
    check_dtype(input, dtype)
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    _height_and_width(size)
    if compat is not None:
        check_compat(
            compat,
            input,
            layout,
            dtype=dtype,
            antialias=antialias,
            min_filter=min_filter,
            mag_filter=mag_filter,
        )
    result = with_layout(input, layout)
    return result if dtype is None else result.with_(dtype=dtype)


def _height_and_width(size: Any) -> tuple[int, int]:
    extents = tuple(np.atleast_1d(size).tolist())
    if len(extents) not in (1, 2) or not all(1 <= extent <= _LARGEST for extent in extents):
        raise OperatorValueError(
            argument="size", expected=f"(h, w), from 1 to {_LARGEST} pixels", got=str(size)
        )
    return extents[0], extents[-1]


@random_resized_crop.shapes
def _shapes(call: Call) -> Int64Array:
    source = call.inputs[0].geometry
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
        filters = note_compat(call, low, high, crop=True)
    call.notes["plan"] = (inputs, sizes, low, high, filters)
    shapes = source.shapes.copy()
    shapes[:, axes] = sizes
    return shapes


random_resized_crop.cpu(run_plan)
random_resized_crop.gpu(launch_plan)
random_resized_crop.stage = resize.stage


@random_resized_crop.cases
def _cases() -> list[Case]:
    images = samples((12, 16, 3), (9, 7, 3), (1, 30, 3))
    planes = samples((3, 8, 6), (3, 5, 5), dtype=float32, layout="CHW")
    frames = samples((2, 6, 8, 3), layout="FHWC", dtype=int16)
    whole = {"num_attempts": 0, "random_aspect_ratio": (0.1, 10.0)}
    nearest = {"interp_type": InterpType.INTERP_NN}
    twice = [samples((8, 6, 3)).at(0)]
    return [
        case("default", images, size=(5, 6), seed=1).no_oracle(),
        case("whole image, nearest", samples((8, 6, 3)), size=(16, 12), **whole, **nearest).equals(
            [image.repeat(2, 0).repeat(2, 1) for image in twice]
        ),
        case("planes", planes, size=4, seed=2, antialias=False).no_oracle(),
        case(
            "float", images, size=(7, 9), seed=3, dtype=float32, interp_type=[1, 2, 3]
        ).no_oracle(),
        case("sequence", frames, size=(3, 4), seed=4).no_oracle(),
        case("of torchvision", images, size=(5, 6), seed=1, compat="torchvision").no_oracle(),
        case(
            "window of all, of Pillow",
            samples((8, 6, 3)),
            size=(16, 12),
            **whole,
            **nearest,
            compat="pil",
        )
        .equals([image.repeat(2, 0).repeat(2, 1) for image in twice])
        .no_oracle(),
        case("unknown library", images, size=4, compat="zork").value_error("torchvision"),
        case("empty", samples(), size=(4, 4)).equals([]),
        case("no size", images).type_error("`size`"),
        case("bad size", images, size=(4, 0)).value_error("`size`"),
        case("bad area", images, size=4, random_area=(0.5, 0.1)).value_error("`random_area`"),
        case("no pixels", samples((0, 4, 3)), size=4).value_error("sample 0"),
        case("bad dtype", samples((4, 4, 3), dtype=float64), size=4).type_error("float64"),
    ]
