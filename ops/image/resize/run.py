"""Running a resampling over whole samples, windows of them, and mirrored ones."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.packed_calls import KernelCall, PerThread, run_calls
from gradiva.eager.rows.row_chain import (
    MIRROR,
    TARGET,
    TARGET_FRAME,
    TARGET_ROW,
    UPSIDE_DOWN,
    Chain,
    RowStep,
    table,
)
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.types.arrays import Array, Float32Array, Float64Array, Int64Array

from .columns import (
    CHANNELS,
    D_BEGIN,
    D_END,
    H_BEGIN,
    H_END,
    IN_D,
    IN_H,
    IN_W,
    PLANE_PITCH,
    PLANES,
    ROW_PITCH,
    SLICE_PITCH,
    W_BEGIN,
    W_END,
)
from .cpu import (
    COLUMNS_FIRST,
    DEEP,
    PICKED,
    ROWS_FIRST,
    filtered_compiler,
    resample_range,
    scratch_sizes,
)
from .fixed_point import fixed_calls
from .nearest import pick_range
from .rows import store_row, store_unsigned_row


class Tables(NamedTuple):
    """The rows that `resample_range` reads of each sample; see the top of `cpu.py`."""

    offsets: Int64Array
    sizes: Int64Array
    window: Int64Array
    roi: Float64Array
    filters: Int64Array


def whole_tables(
    source: op.BatchShape,
    planes: Int64Array,
    channels: Int64Array,
    inputs: Int64Array,
    outputs: Int64Array,
    region: tuple[Float64Array, Float64Array],
    filters: Int64Array,
) -> Tables:
    """For whole outputs; inputs, outputs: extents, (N, axes), for the last of D, H and W; region:
    its low and high ends there."""
    size, count = inputs.shape
    sizes = np.empty((size, 11), np.int64)
    sizes[:] = 1
    sizes[:, PLANES], sizes[:, CHANNELS] = planes, channels
    sizes[:, 5 - count : 5], sizes[:, 8 - count : 8] = inputs, outputs
    sizes[:, ROW_PITCH] = sizes[:, IN_W] * sizes[:, CHANNELS]
    sizes[:, SLICE_PITCH] = sizes[:, ROW_PITCH] * sizes[:, IN_H]
    sizes[:, PLANE_PITCH] = sizes[:, SLICE_PITCH] * sizes[:, IN_D]
    window = np.zeros((size, 6), np.int64)
    window[:, 1::2] = sizes[:, 5:8]
    roi = np.zeros((size, 6))
    roi[:, 1::2] = 1.0
    roi[:, 6 - 2 * count :: 2], roi[:, 7 - 2 * count :: 2] = region
    return Tables(source.offsets, sizes, window, roi, filters)


def rounding(dtype: np.dtype[Any], count: int) -> list[RowStep]:
    """The first steps of the chain of a resize to `dtype`: none for float32."""
    if dtype == np.float32:
        return []
    row = store_unsigned_row if dtype.kind == "u" else store_row
    return [RowStep(row, np.dtype(np.float32), dtype, _limits(dtype, count), 1)]


@lru_cache(maxsize=16)
def _limits(dtype: np.dtype[Any], count: int) -> Float32Array:
    """The parameters of both for so many samples: the least and the greatest value."""
    limits = np.empty((count, 1, 2), np.float32)
    limits[:] = np.iinfo(dtype).min, np.iinfo(dtype).max
    return limits


_WAYS: Final = (
    (ROWS_FIRST, (None, None, None)),
    (COLUMNS_FIRST, (None, True, None)),
    (ROWS_FIRST * DEEP, (None, None, True)),
    (COLUMNS_FIRST * DEEP, (None, True, True)),
    (PICKED, (True, None, None)),
)
"""The arguments of `resample_range` that choose each way."""


def expect_images(dtype: str) -> None:
    """Begin to compile what images of this dtype need, in another process."""
    filtered_compiler.begin(dtype)


def resample_calls(
    data: Array,
    tables: Tables,
    samples: Int64Array,
    chain: Chain,
    target: Array,
    threads: int = 1,
    part: slice = slice(None),
) -> list[KernelCall]:
    """The calls that take samples of `part` through a chain into another slab, by so many threads:
    one for each way that they go. data: their slab, or one for each thread, (threads, elements)."""
    if len(tables.filters) and tables.filters[0, 3] > 1:
        return fixed_calls(data, tables, samples, chain, target, threads, part)
    if not filtered_compiler.asked:
        filtered_compiler.begin(data.dtype.str)
    buffers, ways = _buffers(tables, part, threads)
    own = [*buffers, chain.scratch(threads)]
    *buffer, scratch = [one[0] if threads == 1 else PerThread(one) for one in own]
    steps = chain.form, chain.parameters, scratch, address_of(target), target.itemsize
    source = data if data.ndim == 1 else PerThread(data)
    arguments = source, tuple(tables), tuple(buffer), samples, steps
    return [(resample_range, (*arguments, *way)) for way in ways]


_APART: Final = 64
"""Elements between what two threads write often: they shall share no line of the caches."""


def _buffers(
    tables: Tables, part: slice, threads: int
) -> tuple[tuple[np.ndarray[Any, Any], ...], list[tuple[bool | None, ...]]]:
    """Room for so many threads, and the ways that the samples of a part go."""
    a, b, c, d, some = scratch_sizes(
        tables.sizes[part], tables.window[part], tables.roi[part], tables.filters[part]
    )
    buffers = (
        np.empty((threads, 4, a), np.int64),
        np.empty((threads, 3, b), np.float32),
        np.empty((threads, c + _APART), np.float32),
        np.empty((threads, d + _APART), np.int64),
        np.empty((threads, 3, 9)),
    )
    buffers[-1].fill(np.nan)
    return buffers, [kernel for way, kernel in _WAYS if some & way]


def resample_samples(
    call: op.Call, tables: Tables, mirror: Array | None = None, upside_down: Array | None = None
) -> None:
    """Resample the windows in `tables` of the first input of `call` into its first output.

    mirror, upside_down: (N,), whether a sample is then mirrored along W, H; None for none is.
    """
    source, target = call.inputs[0], call.outputs[0]
    mirror = None if mirror is None or not mirror.any() else mirror
    upside_down = None if upside_down is None or not upside_down.any() else upside_down
    dtype = target.data.dtype
    same = source.type.dtype is target.type.dtype
    if same and mirror is None and upside_down is None and not tables.filters[:, :3].any():
        data, _, result, places = call.words
        call.for_samples(pick_range, data, result, places, tuple(tables))
        return
    sizes, window, item = tables.sizes, tables.window, dtype.itemsize
    channels = sizes[:, CHANNELS]
    values = (window[:, W_END] - window[:, W_BEGIN]) * channels
    samples = table(call.size)
    samples[:, TARGET] = target.batch_shape.offsets * item
    samples[:, TARGET_ROW] = values * item
    heights = (window[:, D_END] - window[:, D_BEGIN]) * (window[:, H_END] - window[:, H_BEGIN])
    samples[:, TARGET_FRAME] = heights * values * item
    if upside_down is not None:
        samples[:, UPSIDE_DOWN] = upside_down
    steps = rounding(dtype, call.size)
    single, longest = np.dtype(np.float32), int(values.max())
    # Rows that are not mirrored pass as rows of one channel, however many they have.
    if mirror is None:
        chain = Chain(steps, single, 1, longest)
        call.for_calls(partial(resample_calls, source.data, tables, samples, chain, target.data))
        return
    samples[:, MIRROR] = mirror
    parts = [slice(0, call.size)]
    if (channels != channels[0]).any():
        parts = [slice(i, i + 1) for i in range(call.size)]
    for part in parts:
        count = int(channels[part.start])
        own = [step._replace(made=count) for step in steps]
        chain = Chain(own, single, count, longest, mirrored=True)
        calls = partial(resample_calls, source.data, tables, samples, chain, target.data)
        if len(parts) == 1:
            call.for_calls(calls)
        else:
            run_calls(calls(part=part), part.start, part.stop)
