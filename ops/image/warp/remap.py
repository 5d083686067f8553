"""`experimental.remap`: each pixel is taken from a place that maps say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import (
    F32Vector,
    Float32Array,
    I64Table,
    I64Vector,
    Int64Array,
    Number,
    Slabs,
)

from .displace import PIXELS, centered
from .gpu import TAPS, interpolation_text, pixel_types
from .rows import warp_row
from .warp import check_interpolation, framed
from .warp_perspective import check_pixel_origin


@op.operator("experimental.remap", schema="experimental__Remap", inputs=3)
def remap(
    input: op.SampleType,
    mapx: op.SampleType | op.Value,
    mapy: op.SampleType | op.Value,
    /,
    *,
    interp: op.InterpTypeLike = op.InterpType.INTERP_LINEAR,
    pixel_origin: str = "corner",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move pixels by maps of coordinates.

    Pixel (x, y) of the output is that of the input at (mapx(x, y), mapy(x, y)). Outside of the
    image there is 0. Places are exact to float32, where OpenCV's remap rounds to 1/32 of a pixel in
    many versions.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32; layout HWC or FHWC, or HWC or FHWC by
            rank.
        mapx, mapy: float32, (h, w) or (h, w, 1), in pixels; for sequences also (F, h, w) and (F, h,
            w, 1), with layouts that begin with F or none; (h, w) is the size of the output.
        interp: INTERP_NN, the pixel that holds the place, or INTERP_LINEAR, between pixels.
        pixel_origin: whether (0, 0) is the "corner" or, as in OpenCV, the "center" of the first
            pixel.

    Returns:
        Images of the size of the maps.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for shapes that do not fit together.

    Example:
        image = gradiva.imread("cat.jpg")
        y, x = np.mgrid[:300, :451].astype(np.float32)
        waves = gradiva.experimental.remap(image, x + 5 * np.sin(y / 20), y)
    """
    op.require_dtype(input, PIXELS)
    check_interpolation(int(interp), "interp")
    check_pixel_origin(pixel_origin)
    for number, one in enumerate((mapx, mapy), 1):
        assert isinstance(one, op.SampleType)
        op.require_dtype(one, (op.float32,), f"input {number}")
        if one.ndim is not None and one.ndim not in (2, 3, 4):
            raise op.OperatorTypeError(
                f"input {number} is a map", expected="2-D to 4-D samples", got=f"{one.ndim}-D"
            )
    return op.with_layout(input, op.require_layout(input, ("HWC", "FHWC"), {3: "HWC", 4: "FHWC"}))


def _frames(map: op.Batch, sequence: bool, number: int) -> Int64Array:
    """The shapes of maps as (frames, h, w). Raises OperatorValueError."""
    shapes, ndim = map.batch_shape.shapes, map.batch_shape.ndim
    many = ndim == 4 or (ndim == 3 and sequence and map.layout[:1] in ("", "F"))
    result = np.ones((len(shapes), 3), np.int64)
    result[:, 1 - many :] = shapes[:, : 2 + many]
    single = shapes[:, 2 + many :].prod(axis=1) == 1
    if (many and not sequence) or not single.all():
        raise op.OperatorValueError(
            f"input {number} is a map",
            expected="(h, w) or (h, w, 1), and frames before these only for sequences",
            got=f"samples of shape {map.batch_shape.shape(0)}, layout {map.layout!r}",
        )
    return result


@dataclass(frozen=True)
class _RemapPlan(op.Plan):
    """steps: (2, N), whether each frame has its own map."""

    steps: Int64Array


@remap.displacement
def _displacement(call: op.Call) -> list[Float32Array | None]:
    made: list[Float32Array | None] = []
    shift, nearest = _shift(call), call["interp"] == op.InterpType.INTERP_NN
    assert isinstance(call.plan, _RemapPlan)
    if call.plan.steps.any():
        raise op.OperatorTypeError("targets follow one map for all frames, and each has its own")
    sizes = call.batch_shapes[0].shapes[:, -3:-1]
    for sample, size in enumerate(sizes.tolist()):
        maps = [given.array(sample).reshape(size) for given in call.inputs[1:]]
        places = np.stack(maps, axis=2) + shift
        made.append(centered(places) if nearest else places)
    return made


@remap.shapes
def _shapes(call: op.Call) -> _RemapPlan:
    sequence = (call.types[0].layout or "").startswith("F")
    shapes = call.inputs[0].batch_shape.shapes.copy()
    if not call.size:
        return _RemapPlan(shapes, np.zeros((2, 0), np.int64))
    across, down = (_frames(call.inputs[number], sequence, number) for number in (1, 2))
    frames = shapes[:, 0] if sequence else np.ones(call.size, np.int64)
    wrong = (across[:, 1:] != down[:, 1:]).any(axis=1)
    for maps in (across, down):
        wrong |= (maps[:, 0] != 1) & (maps[:, 0] != frames)
    if wrong.any():
        sample = int(np.flatnonzero(wrong)[0])
        raise op.OperatorValueError(
            "the maps do not fit each other, or the frames of the input",
            expected=f"maps of one size, for 1 or {frames[sample]} frames",
            got=f"{tuple(across[sample].tolist())} and {tuple(down[sample].tolist())}",
            sample=sample,
        )
    shapes[:, -3:-1] = across[:, 1:]
    steps = np.stack([(maps[:, 0] > 1).astype(np.int64) for maps in (across, down)])
    return _RemapPlan(shapes, steps)


@op.jit
def remap_samples(
    slabs: Slabs,
    shapes: I64Table,
    sizes: I64Table,
    maps: tuple[F32Vector, I64Vector, F32Vector, I64Vector, I64Table],
    shift: np.float32,
    outside: tuple[bool, bool, Number, np.float32],
    begin: int,
    end: int,
) -> None:
    """shapes: (N, 4) with frames; maps: data and offsets of those of x, then of y, and (2, N),
    whether each frame has its own map; outside: as `warp_row` takes it."""
    src, src_offsets, dst, dst_offsets = slabs
    mapx, x_offsets, mapy, y_offsets, steps = maps
    longest = 0
    for i in range(begin, end):
        longest = max(longest, sizes[i, 1])
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        height, width, channels = shapes[i, 1], shapes[i, 2], shapes[i, 3]
        area = sizes[i, 0] * sizes[i, 1]
        for frame in range(shapes[i, 0]):
            base = src_offsets[i] + frame * height * width * channels
            for y in range(sizes[i, 0]):
                row = y * sizes[i, 1]
                first = x_offsets[i] + frame * steps[0, i] * area + row
                second = y_offsets[i] + frame * steps[1, i] * area + row
                for x in range(sizes[i, 1]):
                    xs[x] = mapx[first + x] + shift
                    ys[x] = mapy[second + x] + shift
                to = dst_offsets[i] + (frame * area + row) * channels
                image = (src, base, shapes[i, 1:])
                warp_row(image, (xs, ys), sizes[i, 1], outside, (dst, to))


def _shift(call: op.Call) -> np.float32:
    return np.float32(0.5 if call["pixel_origin"] == "center" else 0.0)


@remap.cpu
def _cpu(call: op.Call, plan: _RemapPlan) -> None:
    target = call.outputs[0]
    maps = (one for given in call.inputs[1:] for one in (given.data, given.batch_shape.offsets))
    zero = target.data.dtype.type(0)
    outside = call["interp"] == op.InterpType.INTERP_LINEAR, True, zero, np.float32(0.0)
    tables = (*framed(call), (*maps, plan.steps), _shift(call), outside)
    call.for_samples(remap_samples, call.slabs, *tables)


_KERNEL = op.CudaKernel("remap", (None, TAPS, TAPS.with_name("remap.cuh")))


@remap.gpu
def _gpu(call: op.Call, plan: _RemapPlan) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    op.refuse_large(source.batch_shape.volumes)
    op.refuse_large(target.batch_shape.volumes)
    shapes, _ = framed(call)
    areas = target.batch_shape.shapes[:, -3:-1].prod(axis=1)
    pixels = np.where(target.batch_shape.volumes, shapes[:, 0] * areas, 0)
    offsets = [one.batch_shape.offsets for one in (source, target, *call.inputs[1:])]
    narrow = [*shapes[:, 1:].T, areas, pixels, pixels]
    table = op.struct_rows([*offsets, *(plan.steps * areas)], narrow)
    blocks = op.blocks_of(pixels)
    text = interpolation_text(call["interp"] == op.InterpType.INTERP_LINEAR)
    maps = [one.data for one in call.inputs[1:]]
    return op.Launch(
        _KERNEL.unit(pixel_types(source, target), text),
        blocks.total,
        (source.data, op.OutputArg(target.data), *maps, table, blocks.table, _shift(call)),
    )


def _grids(*sizes: tuple[int, int]) -> tuple[op.Batch, op.Batch]:
    """Maps that leave the pixels where they are, from their centers."""
    grids = [np.indices(size).astype(np.float32) for size in sizes]
    return op.batch([grid[1] for grid in grids]), op.batch([grid[0] for grid in grids])


@remap.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3))
    frames = op.samples((2, 4, 5, 3), (3, 3, 3, 3), layout="FHWC")
    floats = op.samples((6, 8, 2), (1, 5, 2), dtype=op.float32)
    same = [images.at(i) for i in (0, 1)]
    across, down = _grids((6, 8), (1, 5))
    small = _grids((4, 5), (3, 3))
    mirrored = op.batch([across.at(i)[:, ::-1].copy() for i in (0, 1)])
    noise = op.samples((7, 4), (2, 9), dtype=op.float32, layout="", high=9)
    center = {"pixel_origin": "center"}
    nothing = op.samples(layout="FA", dtype=op.float32)
    return [
        op.case("identity", images, across, down, **center).equals(same).no_oracle(),
        op.case("nearest", images, across, down, interp=0).equals(same).no_oracle(),
        op.case("mirror", images, mirrored, down, **center)
        .equals([a[:, ::-1] for a in same])
        .no_oracle(),
        op.case("corner", images, across, down).no_oracle(),
        op.case("noise", floats, noise, noise, **center).no_oracle(),
        op.case("sequence", frames, *small, **center)
        .equals([frames.at(i) for i in (0, 1)])
        .no_oracle(),
        op.case("empty", op.samples(), nothing, nothing).equals([]).no_oracle(),
        op.case("sizes", images, across, noise).value_error("sample 0"),
        op.case("frames", images, frames, down).type_error("dtype"),
        op.case("two channels", images, floats, down).value_error("input 1"),
        op.case("cubic", images, across, down, interp=2).value_error("`interp`"),
        op.case("origin", images, across, down, pixel_origin="top").value_error("`pixel_origin`"),
        op.case(
            "wide", op.samples((3, 4, 1), (2, 2, 1), dtype=op.float64), across, down
        ).type_error("dtype"),
    ]
