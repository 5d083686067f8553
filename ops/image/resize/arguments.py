"""The arguments of `resize` and related operators, and what they say for a whole batch."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.image.crop_window import CropWindow

from .shapes import resize_geometry


@op.argument_group(subpixel_scale=True)
class ResizeSize(TypedDict, total=False):
    """
    The size of the output, in pixels, is given by one of `size`, `resize_x` and its like,
    `resize_shorter` and `resize_longer`, each of which may differ per sample. A negative size
    mirrors the axis. Sizes are rounded.

    Args:
        size: (h, w) or (d, h, w), or one number for all axes.
        resize_x, resize_y, resize_z: the width, the height and the depth one by one.
        resize_shorter, resize_longer: the size of the shorter or the longer axis; the other one
            follows from the aspect ratio.
        mode: the rule for axes that are 0 or not given: "default" keeps the aspect ratio,
            "stretch" keeps their extent; "not_larger" and "not_smaller" keep the aspect ratio and
            fit the sample into, or around, the size.
        max_size: the greatest size of the axes of the output.
        subpixel_scale: adjust the source region so that rounding the size does not change the
            scale.
    """

    size: op.FloatsArg | None
    resize_x: op.FloatArg | None
    resize_y: op.FloatArg | None
    resize_z: op.FloatArg | None
    resize_shorter: op.FloatArg | None
    resize_longer: op.FloatArg | None
    mode: str | None
    max_size: op.Floats | None
    subpixel_scale: bool


@op.argument_group(roi_relative=False)
class ResizeRegion(TypedDict, total=False):
    """
    Args:
        roi_start, roi_end: the region of the input to resample, in pixels; may differ per sample. A
            start beyond the end mirrors the axis.
        roi_relative: the region is relative to the input's size instead.
    """

    roi_start: op.FloatsArg | None
    roi_end: op.FloatsArg | None
    roi_relative: bool


@op.argument_group(antialias=True)
class ResizeFilters(TypedDict, total=False):
    """
    Args:
        interp_type: the filter: NN, LINEAR (the default), TRIANGULAR, CUBIC, LANCZOS3, GAUSSIAN;
            may differ per sample.
        min_filter, mag_filter: the filter where an axis shrinks, or grows; may differ per sample.
        antialias: stretch the filter over the source pixels of an output pixel where an axis
            shrinks.
    """

    interp_type: op.InterpArg | None
    min_filter: op.InterpArg | None
    mag_filter: op.InterpArg | None
    antialias: bool


@op.argument_group(minibatch_size=32, temp_buffer_hint=0)
class ResizeBuffers(TypedDict, total=False):
    """
    Args:
        minibatch_size, temp_buffer_hint: without effect on the CPU; they steer buffers on a GPU.
    """

    minibatch_size: int
    temp_buffer_hint: int


class SampledResize(ResizeFilters, ResizeBuffers, op.Sampled, total=False):
    """What `random_resized_crop` takes."""


class TensorResize(ResizeRegion, ResizeFilters, ResizeBuffers, op.Common, total=False):
    """What `tensor_resize` takes."""


class Resize(ResizeSize, TensorResize, total=False):
    """What `resize` takes."""


class WindowedResize(Resize, CropWindow, total=False):
    """What `resize_crop_mirror` takes."""


_LINEAR = np.array([int(op.InterpType.INTERP_LINEAR)])
_AXES = ("size", "max_size", "roi_start", "roi_end")
_NUMBERS = ("resize_x", "resize_y", "resize_z", "resize_shorter", "resize_longer")


def sizes_of(call: op.Call, inputs: op.Int64Array) -> tuple[op.Int64Array, Any, Any]:
    """What the arguments of a call make of the extents (N, axes): see `resize_geometry`."""
    values, given = call.arguments, dict[str, Any]()
    for name in _AXES:
        if values[name] is not None:
            given[name] = per_axis(call, name, inputs.shape[1])
    for name in _NUMBERS:
        if values[name] is not None:
            given[name] = values[name].astype(np.float64)
    return resize_geometry(
        inputs,
        **given,
        mode=values["mode"],
        subpixel_scale=values["subpixel_scale"],
        roi_relative=values["roi_relative"],
    )


def per_axis(call: op.Call, name: str, count: int) -> Any:
    """(N, axes) float64; one number stands for all axes."""
    rows = call.arguments[name]
    if rows is None:
        return None
    rows = np.asarray(rows)
    if rows.shape[-1] not in (1, count):
        raise op.wrong_value(name, f"1 or {count} numbers", rows.shape[-1])
    made = np.empty((call.size, count))
    made[:] = rows
    return made


def filters_of(call: op.Call, sizes: op.Int64Array, low: Any, high: Any) -> op.Int64Array:
    """(N, 5): the filter of D, H and W, then 1 for antialiasing, then the number of axes."""
    given = call.arguments
    for name in ("interp_type", "min_filter", "mag_filter"):
        rows = given[name]
        if rows is not None:
            expected = "an interpolation such as types.INTERP_LINEAR"
            op.refuse_samples((rows < 0) | (rows > 5), name, expected, rows)
    plain = _LINEAR if given["interp_type"] is None else given["interp_type"]
    shrinking = plain if given["min_filter"] is None else given["min_filter"]
    growing = plain if given["mag_filter"] is None else given["mag_filter"]
    filters = np.zeros((call.size, 5), np.int64)
    chosen = growing[:, None]
    if shrinking is not growing:
        chosen = np.where(sizes < np.abs(high - low), shrinking[:, None], chosen)
    filters[:, 3 - sizes.shape[1] : 3] = chosen
    filters[:, 3] = given["antialias"]
    filters[:, 4] = sizes.shape[1]
    return filters
