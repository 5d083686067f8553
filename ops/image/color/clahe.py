"""`clahe`: spread values evenly tile by tile, without raising contrast too much."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2

# The tables behind 8-bit RGB to CIE Lab and back, for GPU kernels that do as OpenCV on the CPU.


@lru_cache(maxsize=1)
def lab_tables() -> np.ndarray[Any, np.dtype[np.uint16]]:
    """What ops/image/color/lab.cuh looks up, in its order: linear light of values, cube roots of
    linear light, luminance of lightness and its root, values of linear light.

    Made in float32 where OpenCV rounds to it; a test compares all 2**24 colors, both ways.
    """
    single = np.float32
    values = np.arange(256)
    linear = np.rint(single(2040) * _linear(values.astype(single) / single(255)))
    light = np.arange(2041, dtype=single) * (single(1) / single(2040))
    wide = light.astype(np.float64)
    # OpenCV's cube root is cut off to float32, not rounded.
    cube_root = (np.cbrt(wide).view(np.int64) >> 29 << 29).view(np.float64)
    line = (wide * (841 / 108) + 16 / 116).astype(single)
    root = np.rint(32768 * np.where(light < 216 / 24389, line, cube_root))
    dark = values <= 20
    above = (values * 100 * 16384).astype(single) / single(255 * 116)
    above += single(16 * 16384) / single(116)
    luma = np.rint(above * above * above / single(16384**2))
    luma = np.where(dark, np.rint(values * (16384 * 180) / (17 * 29**3)), luma)
    luma_root = np.rint(16384 * (16 / 116 + values * 5 / (3 * 17 * 29)))
    luma_root = np.where(dark, luma_root, np.rint(above))
    shown = np.rint(single(255) * _shown(np.arange(4096, dtype=single) / single(4096)))
    tables = np.concatenate([linear, root, luma, luma_root, shown]).astype(np.uint16)
    tables.flags.writeable = False
    return tables


def _linear(value: Any) -> Any:
    """Linear light of sRGB, from 0 to 1."""
    wide = value.astype(np.float64)
    curve = ((wide + 0.055) / 1.055) ** 2.4
    return np.where(wide <= 0.04045, wide / 12.92, curve).astype(np.float32)


def _shown(light: Any) -> Any:
    """sRGB of linear light, from 0 to 1."""
    wide = light.astype(np.float64)
    curve = wide ** (1 / 2.4) * 1.055 - 0.055
    return np.where(wide <= 0.0031308, wide * 12.92, curve).astype(np.float32)


_MOST: Final = 1024


@op.operator("clahe", schema="Clahe")
def clahe(
    input: op.SampleType,
    /,
    *,
    tiles_x: int,
    tiles_y: int,
    clip_limit: float,
    bins: int = 256,
    luma_only: bool = True,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Equalize contrast tile by tile: contrast-limited adaptive histogram equalization, by OpenCV.

    Args:
        input: uint8; layout HWC with 1 or 3 channels (RGB), or HW. Without a layout HW or HWC by
            rank, and the output has that layout.
        tiles_x, tiles_y: how many tiles there are along W and H, 1 to 1024; between their centers
            the results are interpolated.
        clip_limit: the greatest height of a histogram, as a multiple of its mean height; counts
            above it are spread over all values. 0: no limit.
        bins: 256; other numbers have no effect on the CPU.
        luma_only: equalize L of CIE Lab; if False, each channel by itself.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels and arguments out of range.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.clahe(image, tiles_x=8, tiles_y=8, clip_limit=2.0)
    """
    op.require_dtype(input, (op.uint8,))
    for name, tiles in (("tiles_x", tiles_x), ("tiles_y", tiles_y)):
        if not 1 <= tiles <= _MOST:
            raise op.wrong_value(name, f"1 to {_MOST}", tiles)
    if not 0 <= clip_limit < float("inf"):
        raise op.wrong_value("clip_limit", "0 or more", clip_limit)
    if bins < 1:
        raise op.wrong_value("bins", "a positive number", bins)
    return op.with_layout(input, op.require_layout(input, ("HWC", "HW"), {2: "HW", 3: "HWC"}))


clahe.libraries = ("opencv-python-headless",)


clahe.moves = op.IN_PLACE


@clahe.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    batch_shape = call.inputs[0].batch_shape
    if batch_shape.ndim == 3:
        channels = batch_shape.shapes[:, 2]
        problem = "the input has the wrong number of channels"
        op.refuse_samples(~np.isin(channels, (1, 3)), "", "1 or 3", channels, problem)
    return batch_shape


@clahe.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    tiles = (call["tiles_x"], call["tiles_y"])
    # Numbers that are no more than 0 as float32 are no limit, as in DALI.
    limit = float(np.float32(call["clip_limit"]))

    images, outs = source.arrays(), target.arrays()

    def equalize(sample: int) -> None:
        image, out = images[sample], outs[sample]
        if not image.size:
            return
        # One for each sample: it holds memory of its own.
        worker = cv2.createCLAHE(limit, tiles)
        if image.ndim == 2 or image.shape[2] == 1:
            plane = out.reshape(image.shape[:2])
            made = worker.apply(image.reshape(image.shape[:2]), plane)
            if made is not plane and not np.may_share_memory(made, plane):
                plane[...] = made
        elif call["luma_only"]:
            lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
            lab[..., 0] = worker.apply(np.ascontiguousarray(lab[..., 0]))
            out[...] = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
        else:
            for c in range(3):
                out[..., c] = worker.apply(np.ascontiguousarray(image[..., c]))

    call.each_sample(equalize, source.batch_shape.volumes.tolist())


_HERE: Final = Path(__file__).parent
_TABLES: Final = op.CudaKernel(
    "clahe_tables", tuple(_HERE / f"{name}.cuh" for name in ("histogram", "lab", "clahe_tables"))
)
_KERNEL: Final = op.CudaKernel("clahe", (_HERE / "lab.cuh", _HERE / "clahe.cuh"))


@clahe.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source, target = call.inputs[0], call.outputs[0]
    shapes, volumes = source.batch_shape.shapes, source.batch_shape.volumes
    tiles = np.array([call["tiles_y"], call["tiles_x"]])
    sizes = shapes[:, :2]
    channels = shapes[:, 2] if shapes.shape[1] == 3 else np.ones(call.size, np.int64)
    luma = (channels == 3) & bool(call["luma_only"])
    # An image that the tiles do not divide is made larger along both axes.
    rest = sizes % tiles
    extents = (sizes + np.where(rest.any(axis=1, keepdims=True), tiles - rest, 0)) // tiles
    area = extents.prod(axis=1)
    limits = np.zeros(call.size, np.int64)
    if np.float32(call["clip_limit"]) > 0:
        found = float(np.float32(call["clip_limit"])) * area / 256
        # OpenCV's conversion to an integer: what is too large for one is less than 1.
        limits = np.maximum(np.where(found < 2**31, found, 1).astype(np.int64), 1)
    counts = np.where(volumes > 0, np.where(luma, 1, channels), 0)
    before = counts.cumsum() - counts
    owner, channel = op.numbered(counts)
    first = source.batch_shape.offsets[owner] + channel
    rows = [sizes[:, 0], sizes[:, 1], channels, luma, extents[:, 0], extents[:, 1], limits]
    planes = np.stack([first, *(row[owner] for row in rows)], axis=1).astype(np.int64)
    rows = [source.batch_shape.offsets, target.batch_shape.offsets, volumes, sizes[:, 1], channels]
    rows += [before, luma, extents[:, 0], extents[:, 1]]
    images = np.stack(rows, axis=1).astype(np.int64)
    blocks = op.blocks_of(volumes // np.maximum(channels, 1))
    count = len(planes) * int(tiles.prod())
    tables = op.Scratch(count * 256, np.dtype(np.uint8))
    down, across = np.int64(tiles[0]), np.int64(tiles[1])
    colors, values, results = lab_tables(), source.data, op.OutputArg(target.data)
    made = values, op.OutputArg(tables), planes, colors, down, across
    read = values, results, tables, images, blocks.table, colors, down, across
    return [
        op.Launch(_TABLES.unit({}), count, made),
        op.Launch(_KERNEL.unit({}), blocks.total, read),
    ]


@clahe.cases
def _cases() -> list[op.Case]:
    images = op.samples((24, 25, 3), (11, 17, 3), (6, 1, 3))
    gray = op.samples((24, 25, 1), (11, 17, 1))
    tiled: dict[str, Any] = {"tiles_x": 2, "tiles_y": 3, "clip_limit": 2.0}
    return [
        op.case("luma", images, **tiled),
        op.case("channels", images, **tiled, luma_only=False),
        op.case("gray", gray, **tiled),
        op.case("plane", op.samples((9, 8), layout="HW"), **tiled).no_oracle(),
        op.case("no limit", images, tiles_x=2, tiles_y=3, clip_limit=0.0),
        op.case("empty", op.samples(), **tiled).equals([]),
        op.case("no tiles", images, tiles_x=0, tiles_y=3, clip_limit=2.0).value_error("`tiles_x`"),
        op.case("negative limit", images, tiles_x=2, tiles_y=3, clip_limit=-1.0).value_error(
            "`clip_limit`"
        ),
        op.case("two channels", op.samples((4, 4, 2)), **tiled).value_error("channels"),
        op.case("wrong dtype", op.samples((4, 4, 3), dtype=op.float32), **tiled).type_error(
            "float32"
        ),
        op.case("planar", op.samples((3, 4, 4), layout="CHW"), **tiled).type_error("layout"),
        op.case("tiles are required", images, clip_limit=1.0, tiles_x=2).type_error("`tiles_y`"),
    ]
