"""What `water`, `sphere` and `jitter` share: each pixel is taken from another place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, Float32Array, I64Table, Slabs
from gradiva.ops.image.crop_window import fill_array

from .warp import check_interpolation

PIXELS: Final = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float32)


@op.argument_group(mask=1, fill_value=0.0, interp_type=op.InterpType.INTERP_NN)
class Displacement(TypedDict, total=False):
    """
    Args:
        mask: whether a sample is changed, 0 or 1; may differ per sample.
        fill_value: the value of pixels outside of the image, for all channels, cast to the dtype as
            in C.
        interp_type: INTERP_NN, the nearest pixel, or INTERP_LINEAR.
    """

    mask: op.IntArg
    fill_value: float
    interp_type: op.InterpTypeLike


class Displaced(Displacement, op.Common, total=False):
    """What `sphere` and `water` take."""


class RandomlyDisplaced(Displacement, op.Sampled, total=False):
    """What `jitter` takes."""


def displaced_type(input: op.SampleType, options: Displacement) -> op.SampleType:
    """The type rule: images with the channels last."""
    op.require_dtype(input, PIXELS)
    check_interpolation(int(options["interp_type"]), "interp_type")
    return op.with_layout(input, op.require_layout(input, ("HWC",), {3: "HWC"}))


@op.jit
def longest_row(shapes: I64Table, masks: BoolVector, begin: int, end: int) -> int:
    """The number of pixels in the longest row of the samples that are to be displaced."""
    longest = 0
    for i in range(begin, end):
        if masks[i]:
            longest = max(longest, shapes[i, 1])
    return longest


def places_of(
    call: op.Call, fill: Callable[..., None], *parameters: Any
) -> list[Float32Array | None]:
    """Where the pixels of each sample come from, for `displacement`; None for samples that stay as
    they are. fill: (height, width, places, *parameters) fills in places (h, w, 2)."""
    made: list[Float32Array | None] = []
    nearest = call["interp_type"] == op.InterpType.INTERP_NN
    for applied, shape in zip(call["mask"], call.inputs[0].batch_shape.shapes, strict=True):
        if not applied:
            made.append(None)
            continue
        places = np.empty((*shape[:2], 2), np.float32)
        fill(int(shape[0]), int(shape[1]), places, *parameters)
        made.append(centered(places) if nearest else places)
    return made


def centered(places: Float32Array) -> Float32Array:
    """Places of which the nearest pixels are taken: along an axis on which all are whole numbers,
    these are the pixels, and so their centers."""
    for axis in range(2):
        along = places[..., axis]
        if (along == np.floor(along)).all():
            along += np.float32(0.5)
    return places


@op.jit
def copy_unmasked(slabs: Slabs, shapes: I64Table, masks: BoolVector, begin: int, end: int) -> None:
    """Samples that stay as they are."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        if not masks[i]:
            size = shapes[i, 0] * shapes[i, 1] * shapes[i, 2]
            s, d = src_offsets[i], dst_offsets[i]
            for k in range(size):
                dst[d + k] = src[s + k]


def outside_of(call: op.Call) -> tuple[Any, np.float32]:
    """The fill value as a pixel, and for mixing. It is cast as C does, as in DALI: its
    fraction is lost, and it wraps."""
    kind, value = call.outputs[0].dtype.numpy, call["fill_value"]
    wide = kind.kind == "f" or bool(np.isfinite(value))
    fill = fill_array(value if wide else 0.0, kind)[0]
    return fill, np.float32(fill)


def displace(call: op.Call, kernel: Callable[..., Any], *parameters: Any) -> None:
    """Run kernel(slabs, shapes, masks, outside, *parameters, begin, end) over the samples whose
    mask is not 0, and copy the others; outside: as `warp_row` takes it."""
    masks = np.asarray(call["mask"]) != 0
    shapes = call.inputs[0].batch_shape.shapes
    outside = (call["interp_type"] == op.InterpType.INTERP_LINEAR, True, *outside_of(call))
    call.for_samples(copy_unmasked, call.slabs, shapes, masks)
    call.for_samples(kernel, call.slabs, shapes, masks, outside, *parameters)
