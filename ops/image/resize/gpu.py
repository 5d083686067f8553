"""The GPU launches of a resampling: one that makes the tables, then one for each axis, or one that
moves whole pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import Epilogue
from gradiva.eager.execution.gpu_elementwise import chain_parameters, chain_source

from .axes import END, EXTENT, LOW, STARTS, TAPS, WEIGHTS, batch_axes
from .columns import CHANNELS, IN_D, OUT_D, PLANES, ROW_PITCH, SLICE_PITCH
from .run import Tables, rounding
from .taps import _CURVES

_HERE: Final = Path(__file__).parent
_FILES: Final = ("arithmetic.cuh", None)
_RESAMPLE: Final = op.CudaKernel("resample", (*_FILES, _HERE / "resample.cuh"))
_NEAREST: Final = op.CudaKernel("resample_nearest", (*_FILES, _HERE / "resample_nearest.cuh"))
_TABLES: Final = op.CudaKernel("resample_tables", (_HERE / "resample_tables.cuh",))
_WIDEST: Final = 4
_READ, _OUTPUTS = 3, 9
"""Columns of what `batch_axes` says of tables: inputs that an output reads, outputs."""
_SINGLE: Final = np.dtype(np.float32)


def resample_call(call: op.Call, tables: Tables, flips: Any = None) -> list[op.Launch]:
    """Resample the windows in `tables` of the first input of `call` into its first output; flips:
    (N, 3), whether each is then mirrored along D, H, W; None for none is."""
    target = call.outputs[0]
    channels = tables.sizes[:, CHANNELS]
    # A thread that makes a whole pixel reads its weights once.
    side = int(channels[0]) if (channels == channels[0]).all() else 1
    side = side if 1 <= side <= _WIDEST else 1
    steps = [step._replace(made=side) for step in rounding(target.dtype.numpy, call.size)]
    epilogue = Epilogue(steps, side, target.data, target.batch_shape.offsets)
    return resample_launches(call.inputs[0].data, tables, epilogue, flips)


def resample_launches(
    data: Any, tables: Tables, epilogue: Epilogue, flips: op.Int64Array | None = None
) -> list[op.Launch]:
    """The windows in `tables` of samples in the slab `data`, taken through `epilogue`."""
    if flips is None:
        flips = np.zeros((len(tables.sizes), 3), np.int64)
    axes, order, whole, real = batch_axes(
        tables.sizes, tables.window, tables.roi, tables.filters, flips
    )
    starts, weights = (
        op.Scratch(int(size), np.dtype(kind))
        for size, kind in (
            (whole[:, _OUTPUTS].sum(), np.int32),
            ((whole[:, _OUTPUTS] * whole[:, _READ]).sum(), np.float32),
        )
    )
    made = [_filled(whole, real, starts, weights)]
    if not tables.filters[:, :3].any():
        return [*made, _nearest(data, tables, epilogue, axes, starts)]
    passes = _passes(tables, axes, order != 0, epilogue.channels)
    # The slices of an image, of which there is one, are not blended.
    if ((tables.sizes[:, IN_D] == 1) & (tables.sizes[:, OUT_D] == 1)).all():
        passes.pop()
    offsets = tables.offsets
    for one in passes:
        frame = one.rows * one.extent * one.inner
        volumes, own = one.outer * frame, epilogue
        if one is not passes[-1]:
            sizes = volumes * epilogue.channels
            scratch = op.Scratch(int(sizes.sum()), _SINGLE)
            own = Epilogue((), epilogue.channels, scratch, sizes.cumsum() - sizes)
        wide = [offsets + one.source, own.offsets, one.outer_step, one.row_step, one.tap_step]
        wide += [*_target(own, frame), one.starts, one.weights]
        narrow = [volumes, one.rows, one.extent, one.inner, one.taps]
        zero = one.zero.astype(np.float32).view(np.int32)
        table = op.struct_rows(wide, [*narrow, zero])
        unit, parameters = _compiled(_RESAMPLE, data.dtype, own)
        blocks = op.blocks_of(volumes)
        arguments = data, op.OutputArg(own.data), table, blocks.table, starts, weights, parameters
        made.append(op.Launch(unit, blocks.total, arguments))
        data, offsets = own.data, own.offsets
    return made


def _filled(whole: op.Int64Array, real: Any, starts: op.Scratch, weights: op.Scratch) -> op.Launch:
    """The launch that makes the tables of all axes."""
    floats = real[:, 2:].astype(np.float32).view(np.int32)
    wide = [*whole[:, :2].T, *np.ascontiguousarray(real[:, :2]).view(np.int64).T]
    table = op.struct_rows(wide, [*floats.T, *whole[:, 2:].T, np.zeros_like(whole[:, 0])])
    blocks = op.blocks_of(whole[:, _OUTPUTS])
    arguments = _CURVES, table, blocks.table, op.OutputArg(starts), op.OutputArg(weights)
    return op.Launch(_TABLES.unit({}), blocks.total, arguments)


class _Pass(NamedTuple):
    """Columns of the struct `Pass` of resample.cuh, int64 (N,); `source` from the sample on."""

    source: op.Int64Array
    outer: op.Int64Array
    outer_step: op.Int64Array
    rows: op.Int64Array
    row_step: op.Int64Array
    extent: op.Int64Array
    tap_step: op.Int64Array
    inner: op.Int64Array
    taps: op.Int64Array
    starts: op.Int64Array
    weights: op.Int64Array
    zero: Any


def _passes(tables: Tables, axes: op.Int64Array, first: Any, side: int) -> list[_Pass]:
    """The passes over W and H, or over H and W where `first` says so, and the one over D.

    side: elements that a thread makes. What a pass makes of a sample lies without gaps.
    """
    sizes = tables.sizes
    live = axes[:, 2, EXTENT] > 0
    planes, channels, pitch, slice_ = (
        sizes[:, PLANES] * live,
        sizes[:, CHANNELS],
        sizes[:, ROW_PITCH],
        sizes[:, SLICE_PITCH],
    )
    (nz, ny, nx), (low_z, low_y, low_x) = axes[:, :, EXTENT].T, axes[:, :, LOW].T
    reach_z, reach_y, reach_x = (axes[:, :, END] - axes[:, :, LOW]).T
    # Only with one plane do the slices that are read lie one after the other.
    alone = planes == 1
    low_z, slices = np.where(alone, low_z, 0), np.where(alone, reach_z, sizes[:, IN_D])
    outer, head = planes * slices, low_z * slice_
    one, none = np.ones_like(nx), np.zeros_like(nx)
    # The CPU begins the sums of some numbers of channels with 0, those of others with a product:
    # with -0, which changes no sum, both are the same code.
    plus = np.where(np.isin(channels, (1, 3, 4)), -0.0, 0.0)
    nearest = ~tables.filters[:, :3].any(axis=1)
    zeros = np.where(nearest, -0.0, plus), np.full(len(nx), -0.0)

    def chosen(down: Any, across: Any) -> Any:
        return np.where(first, down, across)

    def pass_(axis: Any, zero: Any, *columns: Any) -> _Pass:
        *steps, inner = columns
        found = np.take_along_axis(axes, axis[:, None, None], axis=1)[:, 0]
        ends = found[:, TAPS], found[:, STARTS], found[:, WEIGHTS]
        return _Pass._make([*steps, inner // side, *ends, zero])

    row, line = nx * channels, reach_x * channels
    last = one, none, nz, ny * row, ny * row
    return [
        pass_(
            chosen(one, 2 * one),
            chosen(zeros[1], zeros[0]),
            head + chosen(low_x * channels, low_y * pitch),
            outer,
            slice_,
            chosen(one, reach_y),
            chosen(none, pitch),
            chosen(ny, nx),
            chosen(pitch, channels),
            chosen(line, channels),
        ),
        pass_(
            chosen(2 * one, one),
            chosen(zeros[0], zeros[1]),
            chosen(-low_x * channels, -low_y * row),
            outer,
            chosen(ny * line, reach_y * row),
            chosen(ny, one),
            chosen(line, none),
            chosen(nx, ny),
            chosen(channels, row),
            chosen(channels, row),
        ),
        pass_(none, zeros[1], -low_z * ny * row, planes, slices * ny * row, *last),
    ]


def _nearest(
    data: Any, tables: Tables, epilogue: Epilogue, axes: op.Int64Array, starts: Any
) -> op.Launch:
    """The launch of samples that are resampled to the nearest pixel along all axes."""
    sizes, extents = tables.sizes, axes[:, :, EXTENT]
    inner = sizes[:, CHANNELS] // epilogue.channels
    volumes = sizes[:, PLANES] * extents.prod(axis=1) * inner
    rows = _target(epilogue, extents[:, 1] * extents[:, 2] * inner)
    wide = [tables.offsets, epilogue.offsets, *sizes[:, [10, 9, 8, 1]].T, *rows]
    wide += [*axes[:, :, STARTS].T]
    table = op.struct_rows(wide, [volumes, *extents.T, inner, np.zeros_like(inner)])
    unit, parameters = _compiled(_NEAREST, data.dtype, epilogue)
    blocks = op.blocks_of(volumes)
    arguments = data, op.OutputArg(epilogue.data), table, blocks.table, starts, parameters
    return op.Launch(unit, blocks.total, arguments)


def _target(epilogue: Epilogue, frame: op.Int64Array) -> tuple[op.Int64Array, op.Int64Array]:
    """Elements of the target from one frame, of so many groups, to the next, and from one channel
    of a group to the next."""
    return frame * epilogue.made, frame if epilogue.planes else np.ones_like(frame)


def _compiled(kernel: op.CudaKernel, source: np.dtype[Any], epilogue: Epilogue) -> tuple[Any, Any]:
    """The kernel with the steps of `epilogue` in it, and their parameters."""
    types = {"Source": op.type_name(source), "Target": op.type_name(epilogue.data.dtype)}
    constants = (
        f"constexpr int GROUP = {epilogue.channels};\n"
        f"constexpr i64 APART = {1 if epilogue.planes else epilogue.made};\n"
    )
    text = chain_source(epilogue.steps, _SINGLE, epilogue.channels, types["Target"], "f32")
    return kernel.unit(types, constants + text), chain_parameters(epilogue.steps)
