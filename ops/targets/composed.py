"""`composed_warp`: the pixels of several warps, one after another, gathered once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.types.arrays import F32Vector, Float64Array, I64Table, Number, Slabs
from gradiva.ops.image.warp.displace import PIXELS
from gradiva.ops.image.warp.rows import warp_row
from gradiva.ops.image.warp.warp import check_interpolation, filling_of, framed

from .canvas import canvas
from .follower import follower_of
from .track import COLUMNS, HEAD, MATRIX, begun, shapes_of, stacked

_FAR = np.float32(-1e6)
"""A place that is outside of every image."""


@op.operator("composed_warp", inputs=2)
def composed_warp(
    input: op.SampleType,
    track: op.SampleType,
    /,
    *,
    interp_type: op.InterpTypeLike = op.InterpType.INTERP_LINEAR,
    fill_value: float | None = 0.0,
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Gather the pixels of several warps at once.

    Each pixel of the result is taken from the image before all of them; what one of them has cut
    away or left outside is `fill_value`.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32, HWC or FHWC, or without a layout by
            rank.
        track: how the operators move the places of the image, float64, as `gradiva.Targets` have
            it.
        interp_type: INTERP_LINEAR or INTERP_NN.
        fill_value: the value outside of the image.
        maps: the operators, for those who read the graph.

    Returns:
        Images of the size that the last operator gives them.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for tracks that do not fit.

    Example:
        from gradiva.ops.targets.composed import composed_warp
        from gradiva.ops.targets.canvas import canvas

        image = gradiva.imread("cat.jpg")
        composed_warp(image, canvas(image)).shape  # (300, 451, 3)
    """
    op.require_dtype(input, PIXELS)
    check_interpolation(int(interp_type), "interp_type")
    return op.with_layout(input, op.require_layout(input, ("HWC", "FHWC"), {3: "HWC", 4: "FHWC"}))


class Composition(NamedTuple):
    """The operators that gather the pixels of a chain once: the one that begins the track of the
    images, those that follow each operator, and the one that gathers."""

    begin: OperatorBase
    follow: list[OperatorBase]
    gather: OperatorBase


def composition_of(chain: Sequence[OperatorBase]) -> Composition:
    """What takes the place of these operators, which move pixels by matrices."""
    return Composition(canvas, [follower_of(one) for one in chain], composed_warp)


def _note(fixed: Any) -> str:
    maps = str(fixed.get("maps", ""))
    count = maps.count(",") + 1
    return f"pixels: gathered once, along {count} operators: {maps}" if maps else ""


composed_warp.note = _note


@dataclass(frozen=True)
class _ComposedPlan(op.Plan):
    """tracks: (N, R, 8); back: the inverses of their matrices (N, 4, 4), zeros where there is
    none."""

    tracks: Float64Array
    back: Float64Array


@composed_warp.shapes
def _shapes(call: op.Call) -> _ComposedPlan:
    images = call.inputs[0].batch_shape.shapes
    if call.size == 0:
        return _ComposedPlan(images, np.zeros((0, HEAD, 8)), np.zeros((0, 4, 4)))
    tracks = stacked(call.inputs[1])
    made = shapes_of(tracks)
    fits = made.shape == images.shape
    if not fits or (made[:, -1] != images[:, -1]).any() or (made[:, :-3] != images[:, :-3]).any():
        raise op.OperatorValueError(
            "the track is one of other images", expected=str(call.inputs[0].batch_shape.shape(0))
        )
    maps = np.ascontiguousarray(tracks[:, MATRIX : MATRIX + 4, :4])
    good = np.abs(np.linalg.det(maps)) > 0
    back = np.zeros_like(maps)
    back[good] = np.linalg.inv(maps[good])
    return _ComposedPlan(made, tracks, back)


@op.jit
def _within(slope: float, start: float, first: int, last: int) -> tuple[int, int]:
    """The pixels from `first` on and before `last` whose centers x have slope * x + start >= 0."""
    if slope == 0.0:
        return (first, last) if start >= 0.0 else (0, 0)
    edge = min(max(-start / slope - 0.5, -1.0), 1e9)
    if slope > 0.0:
        return max(first, math.ceil(edge)), last
    return first, min(last, math.floor(edge) + 1)


@op.jit
def _places_of(
    track: Float64Array, back: Float64Array, y: int, width: int, xs: F32Vector, ys: F32Vector
) -> None:
    """Where the pixels of a row come from."""
    # Places, times w, and what planes say of them, are linear along a row.
    starts, slopes = np.empty(3), np.empty(3)
    for k in range(3):
        row = back[3] if k == 2 else back[k]
        starts[k], slopes[k] = row[1] * (y + 0.5) + row[2] * 0.5 + row[3], row[0]
    first, last = _within(slopes[2], starts[2] - 1e-12, 0, width)
    for number in range(HEAD, len(track)):
        for half in range(0, COLUMNS, 4):
            plane = track[number, half : half + 4]
            beside = plane[2] * 0.5 + plane[3]
            slope = plane[0] * slopes[0] + plane[1] * slopes[1] + beside * slopes[2]
            start = plane[0] * starts[0] + plane[1] * starts[1] + beside * starts[2]
            first, last = _within(slope, start, first, last)
    first, last = min(first, width), max(last, 0)
    for x in range(first):
        xs[x], ys[x] = _FAR, _FAR
    if slopes[2] == 0.0:
        scale = 1.0 / starts[2] if first < last else 1.0
        for x in range(first, last):
            xs[x] = np.float32((slopes[0] * (x + 0.5) + starts[0]) * scale)
            ys[x] = np.float32((slopes[1] * (x + 0.5) + starts[1]) * scale)
    else:
        for x in range(first, last):
            scale = 1.0 / (slopes[2] * (x + 0.5) + starts[2])
            xs[x] = np.float32((slopes[0] * (x + 0.5) + starts[0]) * scale)
            ys[x] = np.float32((slopes[1] * (x + 0.5) + starts[1]) * scale)
    for x in range(max(first, last), width):
        xs[x], ys[x] = _FAR, _FAR


@op.jit
def composed_samples(
    slabs: Slabs,
    shapes: I64Table,
    sizes: I64Table,
    tracks: Float64Array,
    back: Float64Array,
    outside: tuple[bool, bool, Number, np.float32],
    begin: int,
    end: int,
) -> None:
    """shapes: (N, 4) with frames; sizes: height and width of the outputs; tracks, back: of the
    plan; outside: as `warp_row` takes it."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        height, width, channels = shapes[i, 1], shapes[i, 2], shapes[i, 3]
        rows, count = sizes[i, 0], sizes[i, 1]
        xs, ys = np.empty(count, np.float32), np.empty(count, np.float32)
        for y in range(rows):
            _places_of(tracks[i], back[i], y, count, xs, ys)
            for frame in range(shapes[i, 0]):
                image = (src, src_offsets[i] + frame * height * width * channels, shapes[i, 1:])
                to = dst_offsets[i] + (frame * rows + y) * count * channels
                warp_row(image, (xs, ys), count, outside, (dst, to))


@composed_warp.cpu
def _cpu(call: op.Call, plan: _ComposedPlan) -> None:
    outside = (call["interp_type"] == op.InterpType.INTERP_LINEAR, *filling_of(call))
    call.for_samples(composed_samples, call.slabs, *framed(call), plan.tracks, plan.back, outside)


@composed_warp.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 4, 3))
    tracks = begun(np.array([[6, 8, 3], [5, 4, 3]]), "HWC")
    same = [images.at(i) for i in range(2)]
    shifted = tracks.copy()
    shifted[:, MATRIX, 3] = 1
    moved_right = [np.concatenate([np.full_like(a[:, :1], 7), a[:, :-1]], axis=1) for a in same]
    nearest = {"interp_type": op.InterpType.INTERP_NN}
    frames = op.samples((2, 6, 8, 3), (2, 5, 4, 3), layout="FHWC")
    of_frames = op.batch(list(begun(np.array([[2, 6, 8, 3], [2, 5, 4, 3]]), "FHWC")))
    given, other = op.batch(list(tracks)), op.batch(list(tracks[::-1].copy() + 1))
    floats = op.samples((6, 8, 3), (5, 4, 3), dtype=op.float32)
    return [
        op.case("linear", images, given).equals(same).no_oracle(),
        op.case("nearest", images, op.batch(list(shifted)), fill_value=7, **nearest)
        .equals(moved_right)
        .no_oracle(),
        op.case("floats", floats, given).equals([floats.at(i) for i in range(2)]).no_oracle(),
        op.case("sequences", frames, of_frames)
        .equals([frames.at(i) for i in range(2)])
        .no_oracle(),
        op.case("empty", op.samples(), op.batch(np.empty((0, HEAD, 8)))).equals([]).no_oracle(),
        op.case("other images", images, other).value_error("track"),
        op.case("cubic", images, given, interp_type=2).value_error("`interp_type`"),
        op.case("layout", op.samples((3, 4, 5), (3, 4, 5), layout="CHW"), given).type_error(
            "layout"
        ),
    ]
