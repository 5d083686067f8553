"""`grid_mask`: set the pixels in the squares of a grid to zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array, F32Table, Float32Array, I64Table, Slabs
from gradiva.ops.math.series import sine_cosine

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")

_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW")
_ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC"}


@op.operator("grid_mask", schema="GridMask", same_shapes=True)
def grid_mask(
    input: op.SampleType,
    /,
    *,
    tile: op.IntArg = 100,
    ratio: op.FloatArg = 0.5,
    angle: op.FloatArg = 0.0,
    shift_x: op.FloatArg = 0.0,
    shift_y: op.FloatArg = 0.0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Set the pixels of a grid of squares to zero (GridMask, arXiv 2001.04086).

    A pixel (x, y) is masked if the fractions of both u / tile and v / tile are below ratio, where
    u = x cos(angle) - y sin(angle) - shift_x and v = x sin(angle) + y cos(angle) - shift_y. The
    arithmetic is float32; the factors of x, y and 1 are divided by tile first.

    Args:
        input: any dtype; layouts HWC, CHW, HW and sequences of these; HW, HWC or FHWC by rank
            without one, and the output has that layout.
        tile: the distance from one square to the next in pixels, 1 or more; may differ per sample.
        ratio: the side of a square as a fraction of `tile`; 0 or less masks nothing, 1 or more
            everything. May differ per sample.
        angle: the angle of the grid, in radians; may differ per sample.
        shift_x, shift_y: the shift of the grid in pixels, along its own axes; may differ per
            sample.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other layouts.
        OperatorValueError: for tiles below 1 and for numbers that are not finite.

    Example:
        image = gradiva.grid_mask(gradiva.imread("cat.jpg"), tile=50, ratio=0.5, angle=0.5)
    """
    return op.with_layout(input, op.require_layout(input, _LAYOUTS, _ASSUMED))


@op.jit
def _in_square(
    x: np.float32,
    y: np.float32,
    cosine: np.float32,
    sine: np.float32,
    shift_x: np.float32,
    shift_y: np.float32,
    ratio: np.float32,
) -> bool:
    """Whether a pixel is in a square. Lengths are in tiles, but for x and y."""
    left, top = y * sine + shift_x, y * cosine - shift_y
    u = x * cosine - left
    v = x * sine + top
    inside: bool = (u - np.floor(u) < ratio) & (v - np.floor(v) < ratio)
    return inside


@op.jit
def _mask_samples(slabs: Slabs, extents: I64Table, terms: F32Table, begin: int, end: int) -> None:
    """extents: (planes, H, W, C); terms: (cos, sin, shift_x, shift_y, ratio), all over the tile but
    the last."""
    src, src_offsets, dst, dst_offsets = slabs
    widest = 1
    for i in range(begin, end):
        widest = max(widest, extents[i, 2])
    masked = np.empty(widest, np.bool_)
    for i in range(begin, end):
        planes, height, width, channels = extents[i]
        cosine, sine, shift_x, shift_y, ratio = terms[i]
        row = width * channels
        for y in range(height):
            line = np.float32(y)
            for x in range(width):
                place = np.float32(x)
                masked[x] = _in_square(place, line, cosine, sine, shift_x, shift_y, ratio)
            for p in range(planes):
                at = (p * height + y) * row
                source = src[src_offsets[i] + at : src_offsets[i] + at + row]
                target = dst[dst_offsets[i] + at : dst_offsets[i] + at + row]
                zero = dst.dtype.type(0)
                if channels == 3:
                    for x in range(width):
                        for c in range(3):
                            target[3 * x + c] = zero if masked[x] else source[3 * x + c]
                elif channels == 1:
                    for x in range(width):
                        target[x] = zero if masked[x] else source[x]
                else:
                    for x in range(width):
                        for c in range(channels):
                            k = x * channels + c
                            target[k] = zero if masked[x] else source[k]


def _plan(call: op.Call) -> tuple[op.Int64Array, Float32Array]:
    """What `_mask_samples` takes: extents and terms."""
    tile = call["tile"]
    op.refuse_samples(tile < 1, "tile", "1 or more", tile)
    for name in ("ratio", "angle", "shift_x", "shift_y"):
        op.refuse_samples(~np.isfinite(call[name]), name, "a finite number", call[name])
    period = tile.astype(np.float32)
    sines, cosines = sine_cosine(call["angle"], radians=True)
    terms = np.empty((call.size, 5), np.float32)
    for column, values in enumerate((cosines, sines, call["shift_x"], call["shift_y"])):
        terms[:, column] = values / period
    terms[:, 4] = call["ratio"]
    layout, shapes = call.types[0].layout or "", call.inputs[0].batch_shape.shapes
    height = layout.index("H")
    extents = np.ones((call.size, 4), np.int64)
    extents[:, 0] = shapes[:, :height].prod(axis=1)
    extents[:, 1:3] = shapes[:, height : height + 2]
    if layout[-1] == "C":
        extents[:, 3] = shapes[:, -1]
    return extents, terms


@grid_mask.cpu
def _cpu(call: op.Call) -> None:
    # Zero is zero bytes.
    call.for_samples(_mask_samples, call.words, *_plan(call))


_KERNEL: Final = op.CudaKernel(
    "grid_mask", ("arithmetic.cuh", None, Path(__file__).with_name("grid_mask.cuh"))
)


@grid_mask.gpu
def _gpu(call: op.Call) -> op.Launch:
    data, before, result, after = call.words
    extents, terms = _plan(call)
    volumes = call.outputs[0].batch_shape.volumes
    blocks = op.blocks_of(volumes)
    rows = op.struct_rows([before, after], [*extents[:, 1:].T, volumes])
    # A row is a multiple of 8 bytes.
    numbers = np.pad(terms, ((0, 0), (0, 1))).view(np.int32)
    table = np.concatenate([rows, numbers], axis=1)
    unit = _KERNEL.unit({"Target": op.type_name(data.dtype)}, _translate.translation_of(_in_square))
    return op.Launch(unit, blocks.total, (data, op.OutputArg(result), table, blocks.table))


def _expected(image: Array, tile: int, size: int) -> Array:
    """An upright grid, in whole numbers."""
    rows, columns = (np.arange(extent) % tile < size for extent in image.shape[:2])
    return np.where((rows[:, None] & columns)[..., None], image.dtype.type(0), image)


@grid_mask.cases
def _cases() -> list[op.Case]:
    images = op.samples((14, 9, 3), (1, 27, 3), (36, 1, 3))
    planes = op.samples((3, 16, 16), layout="CHW", dtype=op.float16)
    four = {"tile": 4}
    turned = {"tile": 7, "angle": 0.5, "ratio": 0.6, "shift_x": 1.5, "shift_y": -2}
    each: Any = {"tile": [3, 4, 5], "ratio": [0.3, 0.5, 0.7], "angle": [0.0, 1.0, -4.0]}
    each["shift_x"] = [1, 2, 3]
    upright = [_expected(images.at(i), 4, 2) for i in range(3)]
    moved = [_expected(np.roll(planes.at(0), (1, 2), (1, 2)).transpose(1, 2, 0), 8, 4)]
    black = [np.zeros_like(images.at(i)) for i in range(3)]
    back = [np.roll(moved[0].transpose(2, 0, 1), (-1, -2), (1, 2))]
    return [
        op.case("default", images),
        op.case("small tiles", images, **four).equals(upright),
        op.case("ratio", images, tile=8, ratio=0.25).equals(
            [_expected(images.at(i), 8, 2) for i in range(3)]
        ),
        op.case("everything", images, ratio=1.0).equals(black),
        op.case("nothing", images, ratio=0.0).equals([images.at(i) for i in range(3)]),
        op.case("turned", op.samples((33, 35, 3), dtype=op.float32), **turned),
        op.case("per sample", images, **each),
        op.case("planes", planes, tile=8, shift_x=-2.0, shift_y=-1.0).equals(back).no_oracle(),
        op.case("frames", op.samples((2, 9, 8, 3), layout="FHWC"), **four).no_oracle(),
        op.case("empty", op.samples(), **four).equals([]),
        op.case("no tile", images, tile=0).value_error("`tile`"),
        op.case("not a number", images, angle=float("nan")).value_error("`angle`"),
        op.case("wrong length", images, ratio=[0.5]).value_error("`ratio`"),
        op.case("layout", op.samples((2, 2, 2), layout="HCW", dtype=op.uint8)).type_error("layout"),
    ]
