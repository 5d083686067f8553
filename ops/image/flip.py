"""`flip`: mirror samples along their width, height or depth."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import copy_launch, gather_table, steps_of
from gradiva.eager.operators.fusion_roles import SourceWindow, View
from gradiva.eager.simd.pixel_vectors import REVERSED, reverse_pixels
from gradiva.eager.types.arrays import Array, I64Table, Slabs
from gradiva.eager.types.coordinate_maps import Gather, gathers

_LAYOUTS = (
    "HWC", "CHW", "HW", "DHWC", "CDHW", "DHW", "FHWC", "FCHW", "CFHW", "FHW",
    "FDHWC", "FCDHW", "CFDHW",
)  # fmt: skip
_ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC", 5: "FDHWC"}


@op.operator("flip", schema="Flip", bfloat16=True, same_shapes=True)
def flip(
    input: op.SampleType,
    /,
    *,
    horizontal: op.IntArg = 1,
    vertical: op.IntArg = 0,
    depthwise: op.IntArg = 0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Mirror each sample along the chosen axes.

    Args:
        input: any dtype; layouts HWC, CHW, HW, volumes with D and sequences with F. Without a
            layout, HW, HWC, FHWC or FDHWC by rank, and the output has that layout.
        horizontal, vertical, depthwise: nonzero to flip along W, H, D; may differ per sample.
            Samples without a D axis ignore `depthwise`.

    Returns:
        Samples of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other layouts.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.flip(images, horizontal=gradiva.random.coin_flip(batch_size=2))
    """
    return op.with_layout(input, op.require_layout(input, _LAYOUTS, _ASSUMED))


def _view(call: op.Call) -> SourceWindow | None:
    """The mirroring, unless it is along D."""
    if "D" in (call.types[0].layout or ""):
        return None
    nothing = np.zeros(call.size, np.int64)
    mirror, upside_down = (np.asarray(call[name]) != 0 for name in ("horizontal", "vertical"))
    return SourceWindow(nothing, nothing, mirror.astype(np.int64), upside_down.astype(np.int64))


@flip.coordinate_map
def _map(call: op.Call) -> Any:
    layout = call.types[0].layout or ""
    extents = call.batch_shapes[0].shapes[:, op.spatial_axes(layout)]
    names = ("horizontal", "vertical", "depthwise")[: extents.shape[1]]
    flipped = np.stack([call[name] != 0 for name in names], axis=1)
    return op.axis_map(np.where(flipped, -1.0, 1.0), np.where(flipped, extents, 0))


flip.fusion_role = View(_view, reads_channels=False)
gathers["flip"] = lambda _fixed: Gather(resamples=False)


@op.jit
def _flip_samples(slabs: Slabs, extents: I64Table, flips: I64Table, begin: int, end: int) -> None:
    """Flip samples along axes.

    extents: planes, depth, height, width and channels of each; flips: whether depth, height and
    width are flipped.
    """
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        planes, depth, height = extents[i, 0], extents[i, 1], extents[i, 2]
        width, channels = extents[i, 3], extents[i, 4]
        row = width * channels
        if row == 0:
            continue
        for p in range(planes):
            for z in range(depth):
                zs = depth - 1 - z if flips[i, 0] else z
                for y in range(height):
                    ys = height - 1 - y if flips[i, 1] else y
                    s = src_offsets[i] + ((p * depth + zs) * height + ys) * row
                    d = dst_offsets[i] + ((p * depth + z) * height + y) * row
                    source = src[s : s + row]
                    target = dst[d : d + row]
                    if not flips[i, 2]:
                        # Loops over elements vectorize, assignments of slices do not.
                        for x in range(row):
                            target[x] = source[x]
                    elif channels == 1:
                        last = row - 1
                        for x in range(row):
                            target[x] = source[last - x]
                    elif channels == 3:
                        whole = width - width % REVERSED
                        for x in range(0, whole, REVERSED):
                            reverse_pixels(source, row - 3 * (x + REVERSED), target, 3 * x)
                        for x in range(whole, width):
                            a = x * 3
                            b = row - 3 - a
                            target[a] = source[b]
                            target[a + 1] = source[b + 1]
                            target[a + 2] = source[b + 2]
                    else:
                        for x in range(width):
                            a = x * channels
                            b = row - channels - a
                            for c in range(channels):
                                target[a + c] = source[b + c]


@lru_cache(maxsize=64)
def _canonical(batch_shape: op.BatchShape, layout: str) -> op.Int64Array:
    """Extents as (planes, D, H, W, C), (N, 5)."""
    shapes = batch_shape.shapes
    width = layout.index("W")
    first = layout.index("D") if "D" in layout else layout.index("H")
    extents = np.ones((len(shapes), 5), np.int64)
    extents[:, 0] = shapes[:, :first].prod(axis=1)
    extents[:, 3 - (width - first) : 4] = shapes[:, first : width + 1]
    if layout[-1] == "C":
        extents[:, 4] = shapes[:, -1]
    return extents


@flip.cpu
def _cpu(call: op.Call) -> None:
    extents = _canonical(call.inputs[0].batch_shape, call.outputs[0].layout)
    names = ("depthwise", "vertical", "horizontal")
    flips = np.stack([call[name] for name in names], axis=1).astype(np.int64)
    call.for_samples(_flip_samples, call.words, extents, flips)


@flip.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    extents = _canonical(source.batch_shape, target.layout)
    first, steps = source.batch_shape.offsets.copy(), steps_of(extents)
    for axis, name in ((1, "depthwise"), (2, "vertical"), (3, "horizontal")):
        flipped = np.asarray(call[name]) != 0
        first += np.where(flipped, (extents[:, axis] - 1) * steps[:, axis], 0)
        steps[:, axis] = np.where(flipped, -steps[:, axis], steps[:, axis])
    lows = np.zeros_like(extents)
    table = gather_table(first, target.batch_shape.offsets, extents, steps, lows, extents)
    return copy_launch(source, target, table)


@flip.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), dtype=op.float32, layout="CHW")
    volumes = op.samples((2, 3, 4, 1), (3, 3, 2, 1), dtype=op.float16, layout="DHWC")
    frames = op.samples((2, 3, 4, 3), layout="FHWC")

    def mirrored(batch: Any, *axes: int) -> list[Array]:
        return [np.flip(batch.at(i), axes) for i in range(len(batch))]

    return [
        op.case("default", images).equals(mirrored(images, 1)),
        op.case("vertical", images, horizontal=0, vertical=1).equals(mirrored(images, 0)),
        op.case("per sample", images, horizontal=[1, 0, 1]).equals(
            [images.at(0)[:, ::-1], images.at(1), images.at(2)[:, ::-1]]
        ),
        op.case("both, CHW", planes, vertical=1).equals(mirrored(planes, 1, 2)),
        op.case("depth", volumes, depthwise=1, vertical=1)
        .equals(mirrored(volumes, 0, 1, 2))
        .no_oracle(),
        op.case("sequence", frames, vertical=1).equals(mirrored(frames, 1, 2)),
        op.case("empty", op.samples()).equals([]),
        op.case("wrong layout", op.samples((2, 2, 2), layout="WHC")).type_error("layout"),
        op.case("wrong length", images, horizontal=[1, 0]).value_error("`horizontal`"),
    ]
