"""What `water`, `sphere` and `jitter` share: each pixel is taken from another place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.image.crop.crop_window import fill_array

from .rows import linear_row, nearest_row
from .warp import require_simple

PIXELS: Final = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float32)


@op.argument_group(mask=1, fill_value=0.0, interp_type=op.InterpType.INTERP_NN)
class Displacement(TypedDict, total=False):
    """
    Args:
        mask: 0 leaves a sample as it is; may differ per sample.
        fill_value: what there is outside, for all channels, cast to the dtype as in C.
        interp_type: INTERP_NN or INTERP_LINEAR.
    """

    mask: op.IntArg
    fill_value: float
    interp_type: op.InterpType


class Displaced(Displacement, op.Common, total=False):
    """What `sphere` and `water` take."""


class RandomlyDisplaced(Displacement, op.Sampled, total=False):
    """What `jitter` takes."""


def displaced_type(input: op.SampleType, options: Displacement) -> op.SampleType:
    """The type rule: images with the channels last."""
    op.require_dtype(input, PIXELS)
    require_simple(options["interp_type"], "interp_type")
    return op.with_layout(input, op.require_layout(input, ("HWC",), {3: "HWC"}))


@op.jit
def take_row(
    src: Any,
    base: int,
    shape: Any,
    xs: Any,
    ys: Any,
    count: int,
    linear: bool,
    fill: Any,
    soft_fill: Any,
    dst: Any,
    to: int,
) -> None:
    """A row of pixels at (xs, ys), with a constant outside of the image."""
    if linear:
        linear_row(src, base, shape, xs, ys, count, True, soft_fill, dst, to)
    else:
        nearest_row(src, base, shape, xs, ys, count, True, fill, dst, to)


@op.jit
def longest_row(shapes: Any, masks: Any, begin: int, end: int) -> int:
    """The number of pixels in the longest row of the samples that are to be displaced."""
    longest = 0
    for i in range(begin, end):
        if masks[i]:
            longest = max(longest, shapes[i, 1])
    return longest


@op.jit
def copy_unmasked(
    src: Any,
    src_offsets: Any,
    dst: Any,
    dst_offsets: Any,
    shapes: Any,
    masks: Any,
    begin: int,
    end: int,
) -> None:
    """Samples that stay as they are."""
    for i in range(begin, end):
        if not masks[i]:
            size = shapes[i, 0] * shapes[i, 1] * shapes[i, 2]
            s, d = src_offsets[i], dst_offsets[i]
            for k in range(size):
                dst[d + k] = src[s + k]


def outside_of(call: op.Call) -> tuple[Any, np.float32]:
    """The fill value as a pixel, and for mixing. It is cast as C does, as in the reference: its
    fraction is lost, and it wraps."""
    kind, value = call.outputs[0].dtype.numpy, call["fill_value"]
    wide = kind.kind == "f" or bool(np.isfinite(value))
    fill = fill_array(value if wide else 0.0, kind)[0]
    return fill, np.float32(fill)


def displace(call: op.Call, kernel: Callable[..., Any], *parameters: Any) -> None:
    """Run kernel(src, src_offsets, dst, dst_offsets, shapes, masks, linear, fill, soft_fill,
    *parameters, begin, end) over the samples whose mask is not 0, and copy the others."""
    source, target = call.inputs[0], call.outputs[0]
    masks = np.asarray(call["mask"]) != 0
    places = (source.data, source.batch_shape.offsets, target.data, target.batch_shape.offsets)
    shapes = source.batch_shape.shapes
    linear = call["interp_type"] == op.InterpType.INTERP_LINEAR
    call.for_samples(copy_unmasked, *places, shapes, masks)
    call.for_samples(kernel, *places, shapes, masks, linear, *outside_of(call), *parameters)
