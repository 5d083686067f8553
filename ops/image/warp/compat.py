"""`compat` of `rotate`, `affine` and `perspective`: maps and sizes as torchvision and Pillow have
them, and the kernels. docs/compat.md says what is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float32Array, Float64Array, Int64Array
from gradiva.ops.image.enhance.compat import (
    as_pillow,
    check_compat,
    frames_of,
    layout_planes,
    pillow,
    planes_of,
)

from .torch_warp import warp_by_torch

ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}
LAYOUTS: Final = ("HWC", "CHW", "HW", "FHWC", "FCHW", "FHW")
_FILTERS: Final = {
    op.InterpType.INTERP_NN: "NEAREST",
    op.InterpType.INTERP_LINEAR: "BILINEAR",
    op.InterpType.INTERP_CUBIC: "BICUBIC",
}
_TOLERANCE: Final = 1e-4
_FARTHEST: Final = 1 << 24
"""How far a point that stays may be away, in pixels: beyond, float32 has no whole numbers."""


class Turn(NamedTuple):
    """What `affine` does to a sample: degrees, (x, y) pixels, a factor, degrees along x and y."""

    angle: float
    translate: tuple[float, float] = (0.0, 0.0)
    scale: float = 1.0
    shear: tuple[float, float] = (0.0, 0.0)


def compat_warp_type(input: op.SampleType, compat: str, interpolation: int) -> op.SampleType:
    """The type rule."""
    check_compat(compat, input)
    known = list(_FILTERS)[: 3 if compat == "pil" else 2]
    if interpolation not in known:
        expected = f"{' or '.join(one.name for one in known)} with {compat!r}"
        raise op.wrong_value("interp_type", expected, op.InterpType(interpolation).name)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def image_sizes(call: op.Call) -> Int64Array:
    """(N, 2): height and width. Raises OperatorValueError for images without pixels."""
    sizes = planes_of(call, (1, 3) if call["compat"] == "pil" else None)[:, 1:3]
    op.refuse_samples((sizes == 0).any(axis=1), "", "", sizes, "the image has no pixels")
    return sizes


def sized(call: op.Call, sizes: Int64Array) -> Int64Array:
    """The shapes of the outputs, for (N, 2) heights and widths."""
    layout, shapes = call.types[0].layout or "", call.inputs[0].batch_shape.shapes.copy()
    first = layout.index("H")
    shapes[:, first : first + 2] = sizes
    return shapes


def numbers_of(call: op.Call, name: str, count: int, expected: str) -> Float64Array:
    """(N, count): the numbers of an argument. Raises OperatorValueError for another count, which a
    batch without samples does not have."""
    rows: Float64Array = call[name]
    if not call.size:
        return np.zeros((0, count))
    if rows.shape[1] != count:
        raise op.wrong_value(name, expected, f"{rows.shape[1]} numbers")
    return rows


def centers_of(call: op.Call) -> list[tuple[float, float] | None]:
    """`center` of each sample, (x, y) in pixels; None where it was not given."""
    if call["center"] is None:
        return [None] * call.size
    rows = numbers_of(call, "center", 2, "(x, y)")
    bad = ~(np.abs(rows) <= _FARTHEST).all(axis=1)
    op.refuse_samples(bad, "center", f"pixels, at most {_FARTHEST} away", rows)
    return [(x, y) for x, y in rows.tolist()]


def inverse_map(turn: Turn, center: tuple[float, float]) -> list[float]:
    """The six numbers that lead from the output to the input, for the point that stays.

    The map is a rotation, times a scale, times shears along y and x, about the center, and then a
    translation; this is its inverse. In float64, in torchvision's order of operations.
    """
    angle = math.radians(turn.angle)
    along_x, along_y = math.radians(turn.shear[0]), math.radians(turn.shear[1])
    cosine, tangent = math.cos(along_y), math.tan(along_x)
    a = math.cos(angle - along_y) / cosine
    b = -(a * tangent + math.sin(angle))
    c = math.sin(angle - along_y) / cosine
    d = math.cos(angle) - c * tangent
    map = [d / turn.scale, -b / turn.scale, 0.0, -c / turn.scale, a / turn.scale, 0.0]
    x, y = center[0] + turn.translate[0], center[1] + turn.translate[1]
    map[2] += center[0] - map[0] * x - map[1] * y
    map[5] += center[1] - map[3] * x - map[4] * y
    return map


def map_matrices(call: op.Call, turns: Sequence[Turn]) -> Float64Array:
    """(N, 2, 3): the maps from the outputs to the inputs, by which targets move: in pixels from the
    corners of the images, the middles of inputs and outputs being the same place."""
    layout = call.types[0].layout or ""
    sizes = image_sizes(call)
    first = layout.index("H")
    moved = (call.batch_shapes[0].shapes[:, first : first + 2] - sizes) / 2.0
    made = np.empty((call.size, 2, 3))
    places = zip(turns, centers_of(call), sizes.tolist(), strict=True)
    for sample, (turn, center, (height, width)) in enumerate(places):
        map = inverse_map(turn, center or (width * 0.5, height * 0.5))
        made[sample] = np.reshape(map, (2, 3))
    made[:, :, 2] -= (made[:, :, :2] * moved[:, np.newaxis, ::-1]).sum(axis=2)
    return made


def tensor_map(turn: Turn, center: tuple[float, float] | None, size: Sequence[int]) -> Float32Array:
    """(2, 3): as `inverse_map`, for places that count from the middle of the image."""
    height, width = size
    middle = (0.0, 0.0)
    if center is not None:
        middle = (center[0] - width * 0.5, center[1] - height * 0.5)
    with np.errstate(over="ignore"):
        return np.array(inverse_map(turn, middle), np.float64).astype(np.float32).reshape(2, 3)


def tensor_canvas(map: Float32Array, size: Sequence[int]) -> tuple[int, int]:
    """(height, width) that hold a turned tensor, in torchvision's float32."""
    height, width = size
    half = np.array([0.5 * width, 0.5 * height], np.float32)
    corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]], np.float32) * half
    moved = (corners[:, :1] * map[:, 0] + corners[:, 1:] * map[:, 1]) + map[:, 2]
    low, high = moved.min(axis=0) + half, moved.max(axis=0) + half
    fine, coarse = np.float32(1.0 / _TOLERANCE), np.float32(_TOLERANCE)
    spread = np.ceil(np.trunc(high * fine) * coarse) - np.floor(np.trunc(low * fine) * coarse)
    return int(spread[1]), int(spread[0])


def pillow_canvas(
    angle: float, center: tuple[float, float] | None, size: Sequence[int]
) -> tuple[int, int]:
    """(height, width) that hold an image that Pillow turns."""
    height, width = size
    angle = angle % 360.0
    if center is None and angle in (0, 180):
        return height, width
    if center is None and angle in (90, 270):
        return width, height
    x, y = center or (width / 2, height / 2)
    radians = -math.radians(angle)
    cosine, sine = round(math.cos(radians), 15), round(math.sin(radians), 15)
    shift_x = cosine * -x + sine * -y + 0.0 + x
    shift_y = -sine * -x + cosine * -y + 0.0 + y
    corners = ((0, 0), (width, 0), (width, height), (0, height))
    across = [cosine * u + sine * v + shift_x for u, v in corners]
    down = [-sine * u + cosine * v + shift_y for u, v in corners]
    wide = math.ceil(max(across)) - math.floor(min(across))
    return math.ceil(max(down)) - math.floor(min(down)), wide


def fills_of(call: op.Call, channels: Int64Array) -> tuple[Float32Array, bool]:
    """(N, channels): the values outside, and whether they were given."""
    given = call["fill_value"]
    values = (0.0,) if given is None else (given if isinstance(given, tuple) else (given,))
    if len(values) > 1:
        expected = f"1 number, or {len(values)} channels"
        op.refuse_samples(channels != len(values), "fill_value", expected, channels)
    wide = np.asarray(values, np.float64)
    if call.inputs[0].dtype is op.uint8 and not ((wide >= 0) & (wide <= 255)).all():
        raise op.wrong_value("fill_value", "numbers from 0 to 255 with `compat`", given)
    rows = np.empty((call.size, max(int(channels.max(initial=1)), len(values))), np.float32)
    with np.errstate(over="ignore"):
        rows[:] = wide
    return rows, given is not None


def warp_tensors(call: op.Call, maps: list[Float32Array], projective: bool = False) -> None:
    """Fill the outputs by maps (2, 3) that count from the middle; projective: (3, 3), from the
    corner of the image."""
    layout, source, target = call.outputs[0].layout, call.inputs[0], call.outputs[0]
    before = layout_planes(layout, source.batch_shape.shapes)
    after = layout_planes(layout, target.batch_shape.shapes)
    rows = np.zeros((call.size, 11), np.float32)
    halves = 0.5 * (after if projective else before)[:, [2, 1]]
    with np.errstate(all="ignore"):
        for sample, map in enumerate(maps):
            scaled = map[:2] / halves[sample].astype(np.float32)[:, None]
            rows[sample, :6] = scaled.reshape(-1)
            if projective:
                rows[sample, 6:8], rows[sample, 8] = map[2, :2], 1
    rows[:, 9:] = 0.5 if projective else (1 - after[:, [2, 1]]) * 0.5
    fills, filled = fills_of(call, before[:, 3])
    linear = call["interp_type"] != op.InterpType.INTERP_NN
    call.for_slabs(warp_by_torch, (before, after), rows, fills, (linear, filled))


def warp_pictures(call: op.Call, change: Any) -> None:
    """Fill the outputs by Pillow: `change(image, sample, filter, fill)` makes of each frame, as an
    image, that of the output."""
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout
    planes = planes_of(call)
    fills, _ = fills_of(call, planes[:, 3])
    filter = getattr(pillow.Resampling, _FILTERS[op.InterpType(call["interp_type"])])

    def make(sample: int) -> None:
        if not target.array(sample).size:
            return
        # Pillow takes whole numbers; torchvision cuts off what is behind the point.
        count = int(planes[sample, 3])
        color = tuple(int(value) for value in fills[sample, :count])
        fill: Any = color if count > 1 else color[0]
        frames = frames_of(source.array(sample), layout)
        for one, made in zip(frames, frames_of(target.array(sample), layout), strict=True):
            made[...] = np.asarray(change(as_pillow(one), sample, filter, fill)).reshape(made.shape)

    call.each_sample(make, target.batch_shape.volumes.tolist())


def right_angle(angle: float, center: Any, square: bool) -> int | None:
    """How many quarter turns counter-clockwise torchvision makes by moving pixels; None where it
    computes places. square: whether the output has the shape that a quarter turn gives."""
    angle = angle % 360
    if center is not None:
        return None
    if angle in (0, 180) or (square and angle in (90, 270)):
        return int(angle // 90)
    return None


def turn_pixels(call: op.Call, sample: int, quarters: int) -> None:
    """Fill an output by quarter turns."""
    layout = call.outputs[0].layout
    made = frames_of(call.outputs[0].array(sample), layout)
    made[...] = np.rot90(frames_of(call.inputs[0].array(sample), layout), quarters, (1, 2))


def perspective_map(start: Float64Array, end: Float64Array) -> Float32Array:
    """(3, 3): the map that takes the corners `end` to the corners `start`, (4, 2) each, in float64,
    rounded to float32. Raises LinAlgError."""
    equations: Array = np.zeros((8, 8))
    for k, ((x, y), (u, v)) in enumerate(zip(end, start, strict=True)):
        equations[2 * k] = [x, y, 1, 0, 0, 0, -u * x, -u * y]
        equations[2 * k + 1] = [0, 0, 0, x, y, 1, -v * x, -v * y]
    found = np.linalg.solve(equations, start.reshape(8))
    return np.append(found, 1.0).astype(np.float32).reshape(3, 3)
