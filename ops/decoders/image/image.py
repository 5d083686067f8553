"""`decoders.image`: from the bytes of image files to pixels."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Decode
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.decoders.formats.decode import codec_color, decode_into, is_direct, output_shape
from gradiva.ops.decoders.formats.decode_jpeg import decode_jpeg
from gradiva.ops.decoders.formats.image_info import ImageInfo
from gradiva.ops.decoders.formats.probe import probe

from .arguments import Decoded, OnGpu, Pixels, Preallocated, Replacement
from .gpu import decode_on_gpu
from .plan import DecodePlan

if TYPE_CHECKING:
    import PIL.Image as pil

else:
    pil = lazy_module("PIL.Image", "pillow")

_DTYPES = (op.uint8, op.int8, op.uint16, op.int16, op.uint32, op.int32, op.float32)


@op.operator(
    "decoders.image",
    schema="decoders__Image",
    formerly=("experimental.decoders.image", "image_decoder"),
)
@op.takes(
    Pixels,
    ...,
    OnGpu,
    "memory_stats",
    Preallocated,
    "split_stages",
    "use_chunk_allocator",
    Replacement,
)
def image(
    input: op.SampleType,
    /,
    *,
    cache_batch_copy: bool = True,
    cache_debug: bool = False,
    cache_size: int = 0,
    cache_threshold: int = 0,
    cache_type: str = "",
    memory_stats: bool = False,
    split_stages: bool = False,
    use_chunk_allocator: bool = False,
    **options: op.Unpack[Decoded],
) -> op.SampleType:
    """Decode JPEG, PNG, BMP, TIFF, PNM, WebP and JPEG 2000.

    With device="mixed" (or "gpu") the pixels are on the GPU, and nvJPEG decodes JPEG; the files are
    in host memory all the same. See `docs/gpu-decoding.md`.

    On the CPU, JPEG decoding is that of libjpeg-turbo at its defaults.

    Args:
        input: the bytes of one file per sample: uint8, 1-D. Formats may be mixed in a batch.
        cache_batch_copy, cache_debug, cache_size, cache_threshold, cache_type, memory_stats,
            split_stages, use_chunk_allocator: steer decoding on a GPU too.

    Returns:
        HWC samples.

    Raises:
        OperatorRuntimeError: with the sample and its file, for data that is no image, is damaged or
            cut short, or has more than 2**28 pixels.
    """
    return decoded_type(input, options["dtype"])


_UNREADABLE = ImageInfo("unreadable", 1, 1, 3)


def decoded_type(input: op.SampleType, dtype: Any) -> op.SampleType:
    """The type rule of the operators that decode images."""
    op.require_dtype(input, (op.uint8,), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), dtype)
    chosen: op.DType = dtype
    return op.SampleType(chosen, 3, "HWC", input.device)


def headers(call: op.Call) -> list[ImageInfo]:
    """What the headers of the files of the first input say. A file without one fails; in a call
    that goes on, it stands for one pixel. Raises OperatorRuntimeError."""
    found = []
    for sample, data in enumerate(call.inputs[0].arrays()):
        try:
            found.append(probe(data))
            continue
        except ValueError as error:
            problem = str(error)
        if not call.goes_on_after(op.SampleDataError(problem, sample=sample)):
            raise op.SampleDataError(problem, sample=sample)
        found.append(_UNREADABLE)
    return found


def whole_images(call: op.Call) -> DecodePlan:
    """The plan for whole images, with their shapes HWC, (N, 3)."""
    infos = headers(call)
    color, turn = op.ImageType(call["output_type"]).name, call["adjust_orientation"]
    shapes = [output_shape(info, color, turn) for info in infos]
    return DecodePlan(np.array(shapes, np.int64).reshape(call.size, 3), infos)


def decode_options(call: op.Call) -> dict[str, Any]:
    """What a call asks of `decode_into` and `decode_region_into`."""
    return {
        "output_type": op.ImageType(call["output_type"]).name,
        "adjust_orientation": call["adjust_orientation"],
        "use_fast_idct": call["use_fast_idct"],
        "jpeg_fancy_upsampling": call["jpeg_fancy_upsampling"],
    }


image.shapes(whole_images)


def _decode(call: op.Call) -> tuple[Callable[[int, Any], None], list[int]]:
    encoded = call.inputs[0].arrays()
    infos = DecodePlan.of(call).infos
    options = decode_options(call)
    color, turn = options["output_type"], options["adjust_orientation"]
    dtype = call.types[0].dtype
    assert dtype is not None
    # Most files go straight to the codec, whose name for the color is all that it asks.
    direct = [
        codec_color(info, color) if is_direct(info, dtype.numpy, color, turn) else None
        for info in infos
    ]
    fast: bool = options["use_fast_idct"]

    def decode(sample: int, out: Any) -> None:
        color = direct[sample]
        try:
            if color is None:
                decode_into(encoded[sample], infos[sample], out, **options)
            else:
                decode_jpeg(encoded[sample], infos[sample], color, out, fast)
        except ValueError as error:
            raise op.SampleDataError(str(error), sample=sample) from None

    return decode, call.batch_shapes[0].volumes.tolist()


image.fusion_role = Decode(_decode)
image.cpu(image.fusion_role.run)
image.mixed_gpu(decode_on_gpu)


def picture(height: int, width: int) -> np.ndarray[Any, Any]:
    """A smooth color picture, for examples."""
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    return np.stack([255 * x, 255 * y, 128 + 100 * np.sin(9 * x * y)], -1).astype(np.uint8)


def encode(array: np.ndarray[Any, Any], format: str, **options: Any) -> np.ndarray[Any, Any]:
    """The picture as the bytes of a file, by Pillow."""
    stream = io.BytesIO()
    pil.fromarray(array).save(stream, format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


@image.cases
def _cases() -> list[op.Case]:
    pictures = [picture(33, 47), picture(16, 16), picture(61, 20)]
    lossless = op.batch(
        [encode(p, f) for p, f in zip(pictures, ("PNG", "BMP", "PPM"), strict=True)]
    )
    jpegs = op.batch([encode(p, "JPEG", quality=90) for p in pictures])
    grays = op.batch([encode(p[..., 0], "PNG") for p in pictures])
    cut = op.batch([jpegs.at(0), jpegs.at(1)[:400]])
    nothing: op.Batch = op.batch(np.empty((0, 1), np.uint8))
    return [
        op.case("lossless", lossless).equals(pictures),
        op.case("jpeg", jpegs).equals(_by_pillow(jpegs)),
        op.case("bgr", lossless, output_type=op.ImageType.BGR).equals(
            [p[..., ::-1] for p in pictures]
        ),
        op.case("gray to rgb", grays).equals([np.repeat(p[..., :1], 3, 2) for p in pictures]),
        op.case("any", grays, output_type=op.ImageType.ANY_DATA).equals(
            [p[..., :1] for p in pictures]
        ),
        op.case("ycbcr", jpegs, output_type=op.ImageType.YCbCr),
        op.case("float", lossless, dtype=op.float32).equals(
            [p.astype(np.float32) * np.float32(1 / 255) for p in pictures]
        ),
        op.case("uint16", lossless, dtype=op.uint16).equals([p * np.uint16(257) for p in pictures]),
        op.case("empty", nothing).equals([]),
        op.case("cut short", cut).runtime_error("sample 1"),
        op.case("no image", op.batch([np.arange(99, dtype=np.uint8)])).runtime_error(
            "unknown image format"
        ),
        op.case("no bytes", op.batch([np.empty(0, np.uint8)])).runtime_error("empty file"),
        op.case("not encoded", op.batch([pictures[0]])).type_error("axes"),
    ]


def _by_pillow(encoded: op.Batch) -> list[np.ndarray[Any, Any]]:
    return [
        np.asarray(pil.open(io.BytesIO(sample.tobytes())))
        for sample in map(encoded.at, range(len(encoded)))
    ]
