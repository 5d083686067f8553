"""`equalize`: spread the values of each channel evenly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.operators.cases import samples
from gradiva.eager.types.arrays import I64Table, I64Vector, Slabs, U8Table, U8Vector

_LAYOUTS: Final = ("HW", "HWC", "CHW", "FHW", "FHWC", "FCHW", "CFHW")


@op.operator("equalize", schema="Equalize", formerly=("experimental.equalize",), same_shapes=True)
def equalize(
    input: op.SampleType, /, *, compat: str | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Equalize the histogram of each channel of each image or frame.

    A value v becomes 255 * (below(v) - first) / (all - first), in float32, rounded, halves to even;
    below(v): how many values are at most v, first: how many are equal to the least one, all: how
    many there are. A channel of one value stays as it is. The formula is OpenCV's (`equalizeHist`).

    Args:
        input: uint8; layouts HW, HWC, CHW, FHW, FHWC, FCHW, CFHW. Without a layout HW, HWC or FHWC
            by rank, and the output has that layout.
        compat: "torchvision" or "pil": the bits of its equalize, which are the same. A value v
            becomes (below(v - 1) + step // 2) // step, at most 255, where step is all values but
            those equal to the greatest, divided by 255; where that is 0, nothing changes.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.

    Example:
        image = gradiva.equalize(gradiva.imread("cat.jpg"))
    """
    op.require_dtype(input, (op.uint8,))
    if compat not in (None, "torchvision", "pil"):
        raise op.wrong_value("compat", "None, torchvision or pil", repr(compat))
    return op.with_layout(input, op.require_layout(input, _LAYOUTS, {2: "HW", 3: "HWC", 4: "FHWC"}))


@op.jit
def _table(counts: I64Vector, pixels: int, table: U8Vector) -> None:
    """The new value of each value, from how often it occurs.

    counts: (256,), in pixels; pixels: of the frame; table: (256,).
    """
    least = 0
    while counts[least] == 0:
        least += 1
    if counts[least] == pixels:
        table[:] = np.uint8(least)
        return
    scale = np.float32(255) / np.float32(pixels - counts[least])
    table[: least + 1] = 0
    below = 0
    for value in range(least + 1, 256):
        below += counts[value]
        table[value] = np.uint8(min(np.float32(255), np.rint(np.float32(below) * scale)))


@op.jit
def _pillow_table(counts: I64Vector, pixels: int, table: U8Vector) -> None:
    """As `_table`, by the rule of Pillow, in whole numbers."""
    most = 255
    while counts[most] == 0:
        most -= 1
    step = (pixels - counts[most]) // 255
    below = step // 2
    for value in range(256):
        table[value] = np.uint8(min(below // step, 255) if step else value)
        below += counts[value]


@always_inline
def _count(source: U8Vector, pixels: int, channels: int, counts: I64Table) -> None:
    """Fill `counts` (channels, 256): how often each value occurs in a channel of a frame.

    source: a frame, interleaved, pixels * channels elements.
    """
    size = pixels * channels
    counts[:] = 0
    if channels == 1:
        # Two counts in turns: equal neighbors need not wait for each other.
        even, odd = counts[0], np.zeros(256, np.int64)
        for k in range(0, size - 1, 2):
            even[source[k]] += 1
            odd[source[k + 1]] += 1
        if size % 2:
            even[source[size - 1]] += 1
        for value in range(256):
            even[value] += odd[value]
    elif channels == 3:
        red, green, blue = counts[0], counts[1], counts[2]
        for k in range(pixels):
            red[source[3 * k]] += 1
            green[source[3 * k + 1]] += 1
            blue[source[3 * k + 2]] += 1
    else:
        for k in range(0, size, channels):
            for c in range(channels):
                counts[c, source[k + c]] += 1


@always_inline
def _look_up(
    source: U8Vector, pixels: int, channels: int, tables: U8Table, target: U8Vector
) -> None:
    """Fill a frame with the new values; tables: (channels, 256), uint8.

    source, target: a frame, interleaved, pixels * channels elements.
    """
    size = pixels * channels
    if channels == 1:
        table = tables[0]
        for k in range(size):
            target[k] = table[source[k]]
    elif channels == 3:
        one, two, three = tables[0], tables[1], tables[2]
        for k in range(pixels):
            target[3 * k] = one[source[3 * k]]
            target[3 * k + 1] = two[source[3 * k + 1]]
            target[3 * k + 2] = three[source[3 * k + 2]]
    else:
        for k in range(0, size, channels):
            for c in range(channels):
                target[k + c] = tables[c, source[k + c]]


@op.jit
def _equalize_samples(
    slabs: Slabs, extents: I64Table, as_pillow: bool, begin: int, end: int
) -> None:
    """extents: (frames, pixels, channels), interleaved, of each sample; as_pillow: by its rule.

    slabs: with offsets in elements; begin, end: the range of samples.
    """
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        frames, pixels, channels = extents[i]
        size = pixels * channels
        if size == 0:
            continue
        counts = np.empty((channels, 256), np.int64)
        tables = np.empty((channels, 256), np.uint8)
        for frame in range(frames):
            s, d = src_offsets[i] + frame * size, dst_offsets[i] + frame * size
            source, target = src[s : s + size], dst[d : d + size]
            _count(source, pixels, channels, counts)
            for c in range(channels):
                if as_pillow:
                    _pillow_table(counts[c], pixels, tables[c])
                else:
                    _table(counts[c], pixels, tables[c])
            _look_up(source, pixels, channels, tables, target)


def _extents(call: op.Call) -> op.Int64Array:
    """(N, 3): frames, pixels of each, channels of each; interleaved."""
    shapes, layout = call.inputs[0].batch_shape.shapes, call.outputs[0].layout
    extents = np.ones((call.size, 3), np.int64)
    height = layout.index("H")
    extents[:, 0] = shapes[:, :height].prod(axis=1)
    extents[:, 1] = shapes[:, height] * shapes[:, height + 1]
    extents[:, 2] = shapes[:, height + 2 :].prod(axis=1)
    return extents


@equalize.cpu
def _cpu(call: op.Call) -> None:
    call.for_samples(_equalize_samples, call.slabs, _extents(call), call["compat"] is not None)


equalize.not_serializable("compat")


_HERE: Final = Path(__file__).parent
_COUNTS: Final = op.CudaKernel(
    "equalize_counts", (_HERE / "histogram.cuh", _HERE / "equalize_counts.cuh")
)
_TABLES: Final = op.CudaKernel(
    "equalize_tables", (_HERE / "histogram.cuh", _HERE / "equalize_tables.cuh")
)
_KERNEL: Final = op.CudaKernel("equalize", (_HERE / "equalize.cuh",))
_PIECE: Final = 1 << 14
"""Pixels that one block counts."""


@equalize.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    if call["compat"] is not None:
        raise NoGpuKernelError(argument="compat", expected="None", got=repr(call["compat"]))
    source, target = call.inputs[0], call.outputs[0]
    volumes = source.batch_shape.volumes
    blocks = op.blocks_of(volumes)
    if not blocks.total:
        return []
    frames, pixels, channels = _extents(call).T
    # A plane is one channel of one frame, a piece a part of it.
    counts = np.where(volumes > 0, frames * channels, 0)
    owners, numbers = op.numbered(counts)
    frame, channel = np.divmod(numbers, np.maximum(channels[owners], 1))
    first = source.batch_shape.offsets[owners] + frame * (pixels * channels)[owners] + channel
    pieces = -(-pixels // _PIECE)[owners]
    planes = np.stack([pixels[owners], pieces.cumsum() - pieces, pieces], axis=1)
    plane, part = op.numbered(pieces)
    step, begin = channels[owners][plane], part * _PIECE
    table = np.stack(
        [first[plane] + begin * step, np.minimum(planes[plane, 0] - begin, _PIECE), step], axis=1
    )
    columns = [pixels * channels, channels, counts.cumsum() - counts]
    samples = np.stack(
        [source.batch_shape.offsets, target.batch_shape.offsets, volumes, *columns], axis=1
    )
    counted = op.Scratch(len(table) * 256, np.dtype(np.uint32))
    tables = op.Scratch(len(planes) * 256, np.dtype(np.uint8))
    values, results = source.data, op.OutputArg(target.data)
    return [
        op.Launch(_COUNTS.unit({}), len(table), (values, op.OutputArg(counted), table)),
        op.Launch(_TABLES.unit({}), len(planes), (counted, op.OutputArg(tables), planes)),
        op.Launch(_KERNEL.unit({}), blocks.total, (values, results, tables, samples, blocks.table)),
    ]


@equalize.cases
def _cases() -> list[op.Case]:
    images = samples((14, 15, 3), (1, 7, 3), (6, 1, 3))
    dark = samples((9, 8), (5, 5), low=3, high=40, layout="HW")
    planes = samples((2, 9, 8), layout="CHW")
    frames = samples((2, 5, 4, 3), layout="FHWC")
    flat = samples((2, 3, 1), low=7, high=7)

    def by_formula(image: Any) -> Any:
        below = np.bincount(image.reshape(-1), minlength=256).cumsum()
        first = below[image.min()]
        scale = np.float32(255) / np.float32(image.size - first)
        return np.rint((below - first).astype(np.float32) * scale)[image].astype(np.uint8)

    def channels(batch: Any) -> list[Any]:
        return [
            np.stack([by_formula(np.asarray(one)[..., c]) for c in range(3)], -1) for one in batch
        ]

    framed = [np.stack([channels([frame])[0] for frame in np.asarray(one)]) for one in frames]
    return [
        op.case("default", images).equals(channels(images)),
        op.case("gray", dark).equals([by_formula(np.asarray(one)) for one in dark]),
        op.case("planes", planes).equals([np.stack([by_formula(p) for p in planes.at(0)])]),
        op.case("sequence", frames).equals(framed),
        op.case("one value", flat).equals([flat.at(0)]),
        op.case("of Pillow", images, compat="pil").no_oracle(),
        op.case("of torchvision", flat, compat="torchvision").equals([flat.at(0)]).no_oracle(),
        op.case("unknown", images, compat="opencv").value_error("`compat`"),
        op.case("empty", samples()).equals([]),
        op.case("no pixels", samples((0, 4, 3)))
        .equals([np.zeros((0, 4, 3), np.uint8)])
        .no_oracle(),
        op.case("wrong dtype", samples((2, 2, 3), dtype=op.float32)).type_error("float32"),
        op.case("wrong layout", samples((2, 2, 2), layout="WHC")).type_error("layout"),
    ]
