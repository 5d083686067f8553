"""Copying windows of samples: what `crop`, `slice`, `pad`, `paste` do once they know where."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import copy_launch, gather_table, steps_of
from gradiva.eager.rows.convert import convert_array, convert_sat, truncate
from gradiva.eager.types.arrays import Array, Int64Array
from gradiva.eager.types.dtypes import bfloat16

from .crop_window import fill_array

AXES: Final = 5


def merge_axes(
    shapes: Int64Array, anchors: Int64Array, windows: Int64Array, channel: int | None
) -> tuple[tuple[Int64Array, Int64Array, Int64Array], int]:
    """The tables, of (N, ndim), as (N, 5): fewer and longer rows make faster copies.

    An axis that is copied whole in every sample is merged into the one before it; absent axes have
    extent 1. channel: the axis whose elements have fill values of their own, None if all have one.
    Returns the tables with the place of that axis among the five; 4 also if it is the last one and
    was merged, for then its elements still follow each other. Raises OperatorTypeError for more
    than five axes that cannot be merged.
    """
    ndim = shapes.shape[1]
    whole = ((anchors == 0) & (windows == shapes)).all(axis=0)
    groups: list[list[int]] = []
    for axis in reversed(range(ndim)):
        last = groups[-1] if groups else []
        kept = channel is not None and channel != ndim - 1 and (axis == channel or channel in last)
        if last and whole[last].all() and not kept:
            last.insert(0, axis)
        else:
            groups.append([axis])
    if len(groups) > AXES:
        raise op.wrong_type("", f"at most {AXES}", str(len(groups)), "too many axes are cut")
    wide = np.ones((3, len(shapes), AXES), np.int64)
    wide[1] = 0
    for number, group in enumerate(groups):
        size = np.multiply.reduce(shapes[:, group[1:]], axis=1)
        for table, rows in zip(wide, (shapes, anchors, windows), strict=True):
            table[:, AXES - 1 - number] = rows[:, group[0]] * size
    place = next((AXES - 1 - k for k, group in enumerate(groups) if channel in group), AXES - 1)
    return (wide[0], wide[1], wide[2]), place


HALVES: Final = (op.float16, bfloat16)


@op.jit
def fill_pixels(dst: Array, at: int, first: int, last: int, fill: Array) -> None:
    """Write the elements `first .. last - 1` of a row that begins at `at`: the channels of pixels.

    The first ones are written one by one. The others are copies of those, in runs that get longer.
    """
    count = fill.size
    done = min(first + count, last)
    for k in range(first, done):
        dst[at + k] = fill[k % count]
    while done < last:
        size = min((done - first) // count * count, last - done)
        source, target = dst[at + first : at + first + size], dst[at + done : at + done + size]
        for k in range(size):
            target[k] = source[k]
        done += size


@op.jit
def copy_kernel(
    src: Array,
    src_offsets: Int64Array,
    dst: Array,
    dst_offsets: Int64Array,
    shapes: Int64Array,
    anchors: Int64Array,
    windows: Int64Array,
    fill: Array,
    channel_axis: int,
    begin: int,
    end: int,
) -> None:
    """Copy windows; tables come from `merge_axes`, `fill` is (N, 1) or (N, channels).

    Source and target may differ in dtype: floats are truncated (not rounded) and saturated then,
    as DALI does in these operators. float16 and bfloat16 are copied as uint16.
    """
    many = fill.shape[1] > 1
    for i in range(begin, end):
        d = dst_offsets[i]
        width = windows[i, 4]
        low = min(max(-anchors[i, 4], 0), width)
        high = max(min(shapes[i, 4] - anchors[i, 4], width), low)
        for a in range(windows[i, 0]):
            ya = a + anchors[i, 0]
            for b in range(windows[i, 1]):
                yb = b + anchors[i, 1]
                for c in range(windows[i, 2]):
                    yc = c + anchors[i, 2]
                    for e in range(windows[i, 3]):
                        ye = e + anchors[i, 3]
                        inside = 0 <= ya < shapes[i, 0] and 0 <= yb < shapes[i, 1]
                        inside = inside and 0 <= yc < shapes[i, 2] and 0 <= ye < shapes[i, 3]
                        lo = low if inside else width
                        hi = high if inside else width
                        if many and channel_axis == 4:
                            fill_pixels(dst, d, 0, lo, fill[i])
                            fill_pixels(dst, d, hi, width, fill[i])
                        elif lo > 0 or hi < width:
                            value = fill[i, 0]
                            if many:
                                at = (a, b, c, e)
                                value = fill[i, at[channel_axis]]
                            before, after = dst[d : d + lo], dst[d + hi : d + width]
                            for k in range(lo):
                                before[k] = value
                            for k in range(width - hi):
                                after[k] = value
                        if inside:
                            row = (ya * shapes[i, 1] + yb) * shapes[i, 2] + yc
                            row = (row * shapes[i, 3] + ye) * shapes[i, 4] + anchors[i, 4]
                            s = src_offsets[i] + row
                            # Slices, not offsets: an index that cannot be negative vectorizes.
                            source = src[s + lo : s + hi]
                            target = dst[d + lo : d + hi]
                            for k in range(hi - lo):
                                target[k] = convert_sat(truncate(source[k], dst), dst)
                        d += width


def channel_fill(call: op.Call, layout: str) -> tuple[Array, int | None]:
    """The argument `fill_values` as (N, 1) or (N, channels), cast as in C to the output's dtype
    (float32 for float16 and bfloat16); and the axis of the channels if they differ.

    Raises OperatorValueError if the numbers of values and of channels of the output differ.
    """
    dtype = call.outputs[0].dtype
    kind = np.dtype(np.float32) if dtype in HALVES else dtype.numpy
    channel = None
    if call.arguments["out_of_bounds_policy"] != "pad":
        return np.zeros((call.size, 1), kind), channel  # nothing is filled
    fill = fill_array(call["fill_values"], kind)
    if len(fill) != 1:
        channel = layout.find("C")
        counts = call.batch_shapes[0].shapes[:, channel]
        if channel < 0 or (counts != len(fill)).any():
            many = "; there is no channel axis"
            if channel >= 0:
                many = f", or one for each of {counts[counts != len(fill)][0]} channels"
            raise op.wrong_value("fill_values", f"1 value{many}", len(fill))
    return np.tile(fill, (call.size, 1)), channel


def copy_windows(call: op.Call, anchors: Int64Array, fill: Array, channel: int | None) -> None:
    """Fill the output of `call` with the windows of its first input that begin at `anchors`, and
    with `fill` outside of it: (N, 1) or (N, channels), of the output's dtype."""
    source, target = call.inputs[0], call.outputs[0]
    shapes, windows = source.batch_shape.shapes, target.batch_shape.shapes
    tables, axis = merge_axes(shapes, anchors, windows, channel)
    data, result = source.data, target.data
    single = np.dtype(np.float32)
    if source.dtype is target.dtype:
        # Bytes move whatever they mean: one compiled kernel per element size.
        unsigned = f"u{source.dtype.itemsize}"
        fill = np.ascontiguousarray(fill.astype(target.dtype.numpy, copy=False))
        data, result, fill = data.view(unsigned), result.view(unsigned), fill.view(unsigned)
    elif source.dtype in HALVES or target.dtype in HALVES:
        # Numba has no such dtypes on the CPU: by way of float32.
        wide = single if target.dtype in HALVES else result.dtype
        data, result = convert_array(data, single), np.zeros(result.shape, wide)
    offsets = (source.batch_shape.offsets, target.batch_shape.offsets)
    call.for_samples(copy_kernel, data, offsets[0], result, offsets[1], *tables, fill, axis)
    if target.dtype in HALVES and result.dtype == single:
        target.data[:] = convert_array(result, target.data.dtype)
    elif source.dtype in HALVES and target.dtype not in HALVES:
        target.data[:] = result


def launch_windows(
    call: op.Call, anchors: Int64Array, fill: Array, channel: int | None
) -> op.Launch:
    """What `copy_windows` does, as a launch on a GPU."""
    source, target = call.inputs[0], call.outputs[0]
    tables, axis = merge_axes(
        source.batch_shape.shapes, anchors, target.batch_shape.shapes, channel
    )
    shapes, anchors, windows = tables
    steps = steps_of(shapes)
    lows = np.clip(-anchors, 0, windows)
    highs = np.maximum(np.minimum(shapes - anchors, windows), lows)
    first = source.batch_shape.offsets + (anchors * steps).sum(axis=1)
    table = gather_table(first, target.batch_shape.offsets, windows, steps, lows, highs)
    same = source.dtype is target.dtype
    dtype = target.dtype.numpy
    fill = fill.astype(dtype, copy=False) if same else convert_array(fill, dtype)
    return copy_launch(source, target, table, fill, axis)
