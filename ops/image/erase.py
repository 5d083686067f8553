"""`erase`: regions of samples overwritten with a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.operators.argument_types import RaggedFloatsArg
from gradiva.eager.simd.intrinsics import without_refcount
from gradiva.eager.simd.streaming import copy_nontemporal, finish_lines, use_nontemporal
from gradiva.eager.types.arrays import (
    Array,
    I64Table,
    I64Vector,
    I64Volume,
    Int64Array,
    Slabs,
    Table,
    Vector,
)

from .crop_window import named_axes
from .planes import fill_bits

_ASSUMED = {2: "HW", 3: "HWC", 4: "DHWC"}
_AXES = 5


@op.operator("erase", schema="Erase")
def erase(
    input: op.SampleType,
    /,
    *,
    anchor: RaggedFloatsArg | None = None,
    shape: RaggedFloatsArg | None = None,
    axes: op.Ints | None = None,
    axis_names: str | None = None,
    fill_value: op.FloatsArg = 0.0,
    normalized: bool | None = None,
    normalized_anchor: bool | None = None,
    normalized_shape: bool | None = None,
    centered_anchor: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Overwrite regions of each sample with a fill value.

    A region begins at trunc(anchor) and ends before trunc(anchor + shape); what lies outside of the
    sample has no effect.

    Args:
        input: any dtype, layout and rank of at most 5.
        anchor, shape: the low ends and the shapes of the regions: numbers for the axes of the first
            region, then those of the second, and so on; as many regions as are wanted, and another
            number of them in each sample. Without an anchor there is one region, in the corner.
            Without either nothing is erased.
        axes: which axes these numbers are about, negative ones counted from the end.
        axis_names: their letters, which win over `axes`; "HW" if neither is given. Other axes are
            erased whole. Without a layout letters are those of HW, HWC or DHWC, by rank.
        fill_value: one value, or one per channel, which needs a layout with C; may differ per
            sample. Cast to the input's dtype as in C: its fraction is dropped, and it wraps.
        normalized_anchor, normalized_shape: whether these numbers are fractions of the extents.
        normalized: the same for both.
        centered_anchor: whether an anchor is the middle of its region.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorValueError: for axes that are not there and for numbers that do not fit to each
            other.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.erase(image, anchor=(60, 120), shape=(90, 150), axis_names="HW")
    """
    if normalized is not None and (normalized_anchor, normalized_shape) != (None, None):
        raise op.OperatorValueError(
            "`normalized` stands for `normalized_anchor` and `normalized_shape`: give it alone"
        )
    return input


@dataclass(frozen=True)
class ErasePlan(op.Plan):
    """starts, regions: as `_regions` returns them."""

    starts: Int64Array
    regions: Int64Array


erase.moves = op.IN_PLACE


@erase.shapes
def _shapes(call: op.Call) -> ErasePlan:
    source = call.inputs[0].batch_shape
    if call["anchor"] is not None and call["shape"] is None:
        raise op.OperatorValueError("`anchor` needs `shape`")
    return ErasePlan(source, *_regions(call, source.shapes))


def _axes(call: op.Call, ndim: int) -> list[int]:
    layout = call.inputs[0].type.layout or _ASSUMED.get(ndim, "")
    names, axes = call["axis_names"], call["axes"]
    if names is None and axes is None:
        names = "HW"
    return named_axes(layout, ndim, names, axes)


def _regions(call: op.Call, shapes: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Where the regions of each sample begin in a table, (N + 1,); and the table: the low ends and
    the high ends on all axes, (regions, 2, ndim)."""
    ndim = shapes.shape[1]
    axes = _axes(call, ndim)
    count = len(axes)
    relative = [call["normalized"] or call[f"normalized_{name}"] for name in ("anchor", "shape")]
    lows, sizes = call["anchor"], call["shape"] or [np.empty(0, np.float32)] * call.size
    lows = [np.zeros_like(one) for one in sizes] if lows is None else lows
    pairs = zip(lows, sizes, strict=True)
    lengths = np.array([(len(low), len(size)) for low, size in pairs], np.int64)
    lengths = lengths.reshape(-1, 2)
    many = lengths[:, 1]
    bad = (lengths[:, 0] != many) | (many % max(count, 1) > 0) | ((many > 0) & (not count))
    if bad.any():
        sample = int(bad.argmax())
        raise op.OperatorValueError(
            "`anchor` and `shape` have a number for each axis of each region",
            expected=f"as many numbers in both, a multiple of {count}",
            got=f"{lengths[sample, 0]} and {lengths[sample, 1]}",
            sample=sample,
        )
    regions = many // max(count, 1)
    starts = np.concatenate([np.zeros(1, np.int64), regions.cumsum()])
    whose = np.repeat(np.arange(call.size), regions)
    table = np.zeros((len(whose), 2, ndim), np.int64)
    if not len(whose):
        return starts, table
    extents = shapes[whose][:, axes]
    wide = extents.astype(np.float32)
    begin, size = (np.concatenate(rows).reshape(-1, count) for rows in (lows, sizes))
    with np.errstate(all="ignore"):  # what is not finite is refused below
        begin = begin * wide if relative[0] else begin
        size = size * wide if relative[1] else size
        if call["centered_anchor"]:
            begin = begin - size * np.float32(0.5)
        ends = np.stack([begin, begin + size], axis=1)
    infinite = ~np.isfinite(ends).all(axis=(1, 2))
    if infinite.any():
        sample = int(whose[infinite.argmax()])
        got = ends[whose == sample].tolist()
        raise op.OperatorValueError(
            "a region has ends that are no numbers", got=str(got), sample=sample
        )
    table[:, 1] = shapes[whose]
    table[:, :, axes] = np.clip(np.trunc(ends), 0, extents[:, None])
    return starts, table


@always_inline
def _fill_row(
    row: Vector,
    fill: Vector,
    place: tuple[int, int, int, int],
    channel: int,
    whole: bool,
    ends: tuple[int, int, int],
) -> None:
    """Fill a row of elements that follow each other.

    fill: one value, or one for each channel; place: the indices of the row along the first four
    axes; channel: the axis of channels; whole: whether the row is made of whole pixels; ends: the
    first element of a pixel that is filled, that behind the last, and how many a pixel has.
    """
    if fill.size == 1:
        value = fill[0]
        for k in range(row.size):
            row[k] = value
    elif channel == 4:
        first, last, _ = ends
        for k in range(min(last - first, row.size)):
            value = fill[first + k]
            for j in range(k, row.size, last - first):
                row[j] = value
    elif channel == 3 and whole:
        for k in range(row.size):
            row[k] = fill[place[3] + k // ends[2]]
    else:
        row[:] = fill[place[channel]]


@op.jit
def erase_kernel(
    slabs: Slabs,
    tables: tuple[I64Table, I64Vector, I64Volume, Table, int],
    past: bool,
    begin: int,
    end: int,
) -> None:
    """Copy samples, then fill regions of them; tables: as `erase_tables` makes them."""
    (src, src_offsets, dst, dst_offsets), (shapes, starts, regions, fill, channel) = slabs, tables
    dst = without_refcount(dst)  # each row would count its holders
    for i in range(begin, end):
        d, shape = dst_offsets[i], shapes[i]
        volume = shape[0] * shape[1] * shape[2] * shape[3] * shape[4]
        source, target = src[src_offsets[i] : src_offsets[i] + volume], dst[d : d + volume]
        if past:
            copy_nontemporal(src, src_offsets[i], dst, d, volume)
            finish_lines()
        else:
            for k in range(volume):  # faster than assigning the slice, which may have to look back
                target[k] = source[k]
        values = fill[i]
        for r in range(starts[i], starts[i + 1]):
            low, high = regions[r, 0], regions[r, 1]
            ends = low[4], high[4], shape[4]
            length = high[4] - low[4]
            if length <= 0:
                continue
            # Whole pixels are filled row by row, else what lies within each pixel.
            whole = length == shape[4]
            last = low[3] + 1 if whole else high[3]
            if whole:
                length = max(high[3] - low[3], 0) * shape[4]
                last = min(last, high[3])
            for a in range(low[0], high[0]):
                for b in range(low[1], high[1]):
                    for c in range(low[2], high[2]):
                        for e in range(low[3], last):
                            at = (((a * shape[1] + b) * shape[2] + c) * shape[3] + e) * shape[4]
                            row = dst[d + at + low[4] : d + at + low[4] + length]
                            _fill_row(row, values, (a, b, c, e), channel, whole, ends)


def erase_tables(
    call: op.Call, plan: ErasePlan, values: Array
) -> tuple[Int64Array, Int64Array, Int64Array, Array, int]:
    """Shapes, starts, regions (R, 2, 5), fill (N, 1) or (N, channels), and the axis of channels.
    values: the fill values, one for each sample or for each of its channels."""
    source, target = call.inputs[0], call.outputs[0]
    ndim = target.batch_shape.ndim
    if ndim > _AXES:
        raise op.OperatorValueError("the input", expected="at most 5 axes", got=str(ndim))
    channel = (source.type.layout or "").find("C")
    counts = None if channel < 0 else target.batch_shape.shapes[:, channel]
    fill = fill_bits(values, target.dtype, counts)
    shapes = np.ones((call.size, _AXES), np.int64)
    shapes[:, _AXES - ndim :] = target.batch_shape.shapes
    regions = np.zeros((len(plan.regions), 2, _AXES), np.int64)
    regions[:, 1] = 1
    regions[:, :, _AXES - ndim :] = plan.regions
    return shapes, plan.starts, regions, fill, _AXES - ndim + channel


@erase.cpu
def _cpu(call: op.Call, plan: ErasePlan) -> None:
    target = call.outputs[0]
    past = use_nontemporal(target.data, target.batch_shape.volumes)
    tables = erase_tables(call, plan, call["fill_value"])
    call.for_samples(erase_kernel, call.words, tables, past)


_KERNEL: Final = op.CudaKernel("erase", ("coordinates.cuh", Path(__file__).with_name("erase.cuh")))


def launch_erase(call: op.Call, plan: ErasePlan, values: Array) -> op.Launch:
    """The launch that copies samples and fills their regions. values: as `erase_tables` takes
    them."""
    source, target = call.inputs[0], call.outputs[0]
    shapes, starts, regions, fill, channel = erase_tables(call, plan, values)
    volumes = target.batch_shape.volumes[:, None]
    blocks = op.blocks_of(volumes[:, 0])
    places = np.stack([source.batch_shape.offsets, target.batch_shape.offsets], 1)
    short = [shapes, volumes, starts[:-1, None], starts[1:, None]]
    narrow = np.concatenate(short, axis=1).astype(np.int32).view(np.int64)
    data, result = source.data.view(fill.dtype), op.OutputArg(target.data.view(fill.dtype))
    table, corners = np.concatenate([places, narrow], axis=1), regions.astype(np.int32)
    numbers = np.int64(fill.shape[1]), np.int64(channel)
    unit = _KERNEL.unit({"Target": op.type_name(fill.dtype)})
    return op.Launch(
        unit, blocks.total, (data, result, table, blocks.table, corners, fill, *numbers)
    )


@erase.gpu
def _gpu(call: op.Call, plan: ErasePlan) -> op.Launch:
    return launch_erase(call, plan, call["fill_value"])


@erase.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 5, 3), (9, 4, 3))
    planes = op.samples((2, 7, 6), (2, 4, 5), dtype=op.float32, layout="CHW")
    audio = op.samples((5,), (2,), dtype=op.float32, layout="")

    def erased(inputs: Any, *parts: Any, fill: Any = 0) -> list[Array]:
        result = [inputs.at(i).copy() for i in range(len(inputs))]
        for image, regions in zip(result, parts, strict=True):
            for region in regions:
                image[region] = fill
        return result

    one = np.s_[1:3, 2:4]
    two: Any = {"anchor": (1, 2, 0, 0), "shape": (2, 2, 1, 1)}
    middle: Any = {"anchor": (2, 3), "shape": (2, 2), "centered_anchor": True}
    lists: Any = (([1, 2], [0, 0, 3, 3], []), ([2, 2], [1, 1, 2, 2], []))
    numbers = [op.batch([np.array(row, np.float32) for row in rows]) for rows in lists]
    return [
        op.case("one region", images, anchor=(1, 2), shape=(2, 2)).equals(
            erased(images, *[[one]] * 3)
        ),
        op.case("two regions, color", images, **two, fill_value=(9, 8.7, 7)).equals(
            erased(images, *[[one, np.s_[:1, :1]]] * 3, fill=(9, 8, 7))
        ),
        op.case("fractions", images, anchor=(0.5, 0.5), shape=(0.5, 0.25), normalized=True).equals(
            erased(images, [np.s_[3:, 4:6]], [np.s_[2:, 2:3]], [np.s_[4:, 2:3]])
        ),
        op.case("middle", planes, **middle, axis_names="HW", fill_value=-1.5).equals(
            erased(planes, *[[np.s_[:, 1:3, 2:4]]] * 2, fill=-1.5)
        ),
        op.case("channel", planes, anchor=1, shape=1, axes=0).equals(
            erased(planes, *[[np.s_[1]]] * 2)
        ),
        op.case("no layout", audio, anchor=1, shape=[[2], [5]], axes=-1)
        .equals(erased(audio, [np.s_[1:3]], [np.s_[1:]]))
        .no_oracle(),
        op.case("other numbers of regions", images, anchor=numbers[0], shape=numbers[1])
        .equals(erased(images, [one], [np.s_[:1, :1], np.s_[3:5, 3:5]], []))
        .no_oracle(),
        op.case("nothing", images).equals(erased(images, [], [], [])),
        op.case("empty", op.samples(), anchor=(1, 2), shape=(2, 2)).equals([]),
        op.case("no shape", images, anchor=(1, 2)).value_error("`shape`"),
        op.case("three numbers", images, anchor=(1, 2, 3), shape=(1, 2, 3)).value_error(
            "multiple of 2"
        ),
        op.case("no such axis", images, shape=(1, 2), axis_names="DH").value_error("`axis_names`"),
        op.case("axis twice", images, shape=(1, 2), axes=(0, -3)).value_error("`axes`"),
        op.case("two colors", images, shape=(1, 2), fill_value=(1, 2)).value_error("`fill_value`"),
        op.case("both", images, shape=(1, 2), normalized=True, normalized_shape=True).value_error(
            "alone"
        ),
    ]
