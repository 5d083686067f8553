"""`jpeg_compression_distortion`: what a JPEG of a given quality leaves of an image."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import can_import, lazy_module
from gradiva.eager.support.opencv import cv2, has_opencv
from gradiva.eager.types.arrays import Array

if TYPE_CHECKING:
    import simplejpeg
    from PIL import Image, JpegImagePlugin
else:
    simplejpeg = lazy_module("simplejpeg", "simplejpeg")
    Image = lazy_module("PIL.Image", "pillow")
    JpegImagePlugin = lazy_module("PIL.JpegImagePlugin", "pillow")

_ASSUMED = {3: "HWC", 4: "FHWC"}
_MOST = 65500
"""Pixels along an axis that the encoder takes."""


@op.operator("jpeg_compression_distortion", schema="JpegCompressionDistortion")
def jpeg_compression_distortion(
    input: op.SampleType, /, *, quality: op.IntArg = 50, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Add the artifacts of JPEG compression: encode each image as a JPEG and decode it again.

    The JPEG is baseline, with chrominance at half the resolution (4:2:0), quantized by the tables
    of libjpeg for that quality. Decoding smooths the chrominance (fancy upsampling).

    Args:
        input: uint8 RGB, HWC or FHWC; HWC or FHWC by rank without a layout, and the output has that
            layout. Each frame is a JPEG of its own.
        quality: 1 (lowest) to 100; other numbers are clamped; may differ per sample.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for images that have not three channels or more than 65500 pixels along
            an axis.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.jpeg_compression_distortion(image, quality=10)
    """
    op.require_dtype(input, (op.uint8,))
    return op.with_layout(input, op.require_layout(input, tuple(_ASSUMED.values()), _ASSUMED))


jpeg_compression_distortion.libraries = ("opencv-python-headless",)


jpeg_compression_distortion.moves = op.IN_PLACE


@jpeg_compression_distortion.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    batch_shape = call.inputs[0].batch_shape
    shapes, limit = batch_shape.shapes, f"at most {_MOST} pixels along an axis"
    large = (shapes[:, -3:-1] > _MOST).any(axis=1)
    for bad, expected in ((shapes[:, -1] != 3, "3 channels"), (large, limit)):
        op.refuse_samples(bad, "", expected, batch_shape.shape, "the shape of an image")
    return batch_shape


@jpeg_compression_distortion.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    qualities = np.clip(call["quality"], 1, 100).tolist()
    # Pillow gives the same bits, but takes longer.
    distort_image = _distort if has_opencv() and can_import("simplejpeg") else _distort_by_pillow

    def distort(sample: int) -> None:
        images, results = source.array(sample), target.array(sample)
        if images.size == 0:
            return
        shape = (-1, *images.shape[-3:])
        for image, result in zip(images.reshape(shape), results.reshape(shape), strict=True):
            distort_image(image, qualities[sample], result)

    call.each_sample(distort, source.batch_shape.volumes.tolist())


def _distort(image: Array, quality: int, result: Array) -> None:
    blue_first = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    done, data = cv2.imencode(".jpg", blue_first, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise op.OperatorRuntimeError("the image cannot be encoded")
    simplejpeg.decode_jpeg(data, "RGB", buffer=result)


def _distort_by_pillow(image: Array, quality: int, result: Array) -> None:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality, subsampling="4:2:0")
    stream.seek(0)
    # The class itself: Image.open refuses large images, and warns of others.
    result[...] = np.asarray(JpegImagePlugin.JpegImageFile(stream))


_LUMA: Final = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip
_CHROMA: Final = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99, *(99,) * 32,
)  # fmt: skip
"""The example tables of the JPEG standard, for quality 50."""

_HERE: Final = Path(__file__).parent
_SQUARES: Final = op.CudaKernel("jpeg_squares", (_HERE / "jpeg_squares.cuh",))
_KERNEL: Final = op.CudaKernel(
    "jpeg_compression_distortion", (_HERE / "jpeg_compression_distortion.cuh",)
)


def _quanta(quality: Any) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """(N, 128): what luma and chroma are quantized by, as libjpeg scales the tables."""
    scale = np.where(quality < 50, 5000 // quality, 200 - 2 * quality)[:, None]
    tables = (np.array(_LUMA + _CHROMA) * scale + 50) // 100
    return np.asarray(np.clip(tables, 1, 255), np.uint16)


@jpeg_compression_distortion.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source, target = call.inputs[0], call.outputs[0]
    shapes, volumes = source.batch_shape.shapes, source.batch_shape.volumes
    sizes = shapes[:, -3:-1]
    counts = np.where(volumes > 0, shapes[:, :-3].prod(axis=1), 0)
    owner, number = op.numbered(counts)
    pixels, squares = sizes.prod(axis=1), -(-sizes // 16)
    each = squares.prod(axis=1)[owner]
    place = number * pixels[owner] * 3
    starts = [one.batch_shape.offsets[owner] + place for one in (source, target)]
    rows = [*starts, *sizes[owner].T, each.cumsum() - each, squares[owner, 1], owner]
    frames = np.stack(rows, axis=1).astype(np.int64)
    # A block of the first launch makes one square.
    cut, blocks = op.blocks_of(each, 1), op.blocks_of(pixels[owner])
    made = op.Scratch(int(each.sum()) * 384, np.dtype(np.uint8))
    quanta = _quanta(np.clip(call["quality"], 1, 100))
    squared = source.data, op.OutputArg(made), frames, cut.table, quanta
    decoded = made, op.OutputArg(target.data), frames, blocks.table
    return [
        op.Launch(_SQUARES.unit({}), cut.total, squared),
        op.Launch(_KERNEL.unit({}), blocks.total, decoded),
    ]


@jpeg_compression_distortion.cases
def _cases() -> list[op.Case]:
    images = op.samples((14, 9, 3), (1, 27, 3), (36, 1, 3))
    gray = np.full((16, 24, 3), 77, np.uint8)
    flat = op.samples((16, 24, 3), low=77, high=77)
    return [
        op.case("default", images),
        op.case("flat", flat, quality=100).equals([gray]),
        op.case("lowest", images, quality=1),
        op.case("clamped", images, quality=-7),
        op.case("per sample", images, quality=[5, 200, 80]),
        op.case("frames", op.samples((3, 19, 18, 3), layout="FHWC"), quality=30),
        op.case("no layout", op.samples((19, 18, 3), layout=""), quality=30),
        op.case("no pixels", op.samples((0, 18, 3), (2, 2, 3))).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("channels", op.samples((4, 4, 1))).value_error("3 channels"),
        op.case("dtype", op.samples((4, 4, 3), dtype=op.float32)).type_error("float32"),
        op.case("layout", op.samples((3, 4, 4), layout="CHW")).type_error("layout"),
        op.case("wide", op.samples((1, 65501, 3))).value_error("65500"),
        op.case("wrong length", images, quality=[5]).value_error("`quality`"),
    ]
