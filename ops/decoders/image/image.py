"""`decoders.image`: from the bytes of image files to pixels."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Decode, DecodeSeveral
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.coordinate_maps import FileMap
from gradiva.ops.decoders.formats.decode import decode_into
from gradiva.ops.decoders.formats.probe import check_data, probe
from gradiva.ops.decoders.image_info import MAX_PIXELS, ImageInfo, at_scale
from gradiva.ops.decoders.jpeg.cpu import straight_decoder
from gradiva.ops.decoders.jpeg.plain_headers import PLAIN_CHANNELS, PLAIN_HAS_EXIF, header_rows
from gradiva.ops.decoders.jpeg.small import decode_small_jpegs

from .arguments import OWN, Decoded, OnGpu, Pixels, Preallocated, Replacement
from .failures import failed
from .gpu import decode_on_gpu
from .plan import COLOR_NAMES, SCALE, DecodePlan, Headers

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
@op.uses_arguments(
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
    """Decode image files: JPEG, PNG, BMP, TIFF, PNM, WebP, JPEG 2000, GIF and AVIF.

    Of GIF and AVIF it is the first image. With device="mixed" (or "gpu") the pixels are on the GPU,
    and nvJPEG decodes JPEG; the files are in host memory all the same. See `docs/gpu-decoding.md`.

    On the CPU, JPEG decoding is that of libjpeg-turbo at its defaults.

    Args:
        input: the bytes of one file per sample: uint8, 1-D. Formats may be mixed in a batch.
        cache_batch_copy, cache_debug, cache_size, cache_threshold, cache_type, memory_stats,
            split_stages, use_chunk_allocator: without effect on the CPU.

    Returns:
        HWC samples.

    Raises:
        OperatorRuntimeError: with the sample and its file, for data that is not an image, is
            damaged or cut short, has more than `max_pixels` pixels, more than its bytes can hold,
            or more than 256 scans (a progressive JPEG has about ten).

    Example:
        reader = gradiva.readers.File(file_root="photos")
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
        gradiva.decoders.image(np.fromfile("cat.jpg", np.uint8)).shape  # (300, 451, 3)
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


def headers(call: op.Call) -> Headers:
    """The headers of the files of the first input, of which images are to be decoded. A file that
    no image can be in fails as one without a header does. Raises OperatorRuntimeError."""
    least, most = _least(call), _most(call)

    def look(data: np.ndarray[Any, Any]) -> ImageInfo:
        info = probe(data, max_pixels=most)
        check_data(data, info)
        return info

    found = look_at_each(call, look, most)
    if least is None:
        return found
    return Headers.of([_scaled(info, least, call) for info in found.infos])


def look_at_each(
    call: op.Call, look: Callable[[np.ndarray[Any, Any]], ImageInfo], max_pixels: int = MAX_PIXELS
) -> Headers:
    """What `look` says of the files of the first input. Where it raises ValueError, the file fails;
    in a call that goes on, it stands for one pixel. Raises OperatorRuntimeError."""
    rows = header_rows(call.inputs[0], max_pixels)
    if rows is None:
        found, others = Headers(np.ones((call.size, 3), np.int64)), list(range(call.size))
    else:
        is_plain = (rows[:, PLAIN_CHANNELS] != 0) & (rows[:, PLAIN_HAS_EXIF] == 0)
        found, others = Headers(rows[:, :3]), np.flatnonzero(~is_plain).tolist()
    for sample in others:
        try:
            found.put(sample, look(call.inputs[0].array(sample)))
            continue
        except ValueError as error:
            problem = str(error)
        if not call.goes_on_after(op.SampleDataError(problem, sample=sample)):
            raise op.SampleDataError(problem, sample=sample)
        found.put(sample, _UNREADABLE)
    return found


def _most(call: op.Call) -> int:
    """`max_pixels`. Raises OperatorValueError."""
    given: int = call["max_pixels"]
    if given < 1:
        raise op.OperatorValueError(
            argument="max_pixels", expected="a positive number of pixels", got=given
        )
    return given


def _least(call: op.Call) -> tuple[int, int] | None:
    """`min_size` as rows and columns. Raises OperatorValueError."""
    given = call["min_size"]
    if given is None:
        return None
    values = (given,) if isinstance(given, int) else tuple(given)
    if len(values) not in (1, 2) or min(values) < 1:
        raise op.wrong_value("min_size", "a positive integer, or (height, width)", repr(given))
    return values[0], values[-1]


def _scaled(info: ImageInfo, least: tuple[int, int], call: op.Call) -> ImageInfo:
    turned = call["adjust_orientation"] and info.orientation >= 5
    return at_scale(info, (least[1], least[0]) if turned else least)


def whole_images(call: op.Call) -> DecodePlan:
    """The plan for whole images, with their shapes HWC, (N, 3)."""
    found = headers(call)
    color, turn = op.ImageType(call["output_type"]).name, call["adjust_orientation"]
    return DecodePlan(found.shapes(color, turn), found)


def decode_options(call: op.Call) -> dict[str, Any]:
    """What a call asks of `decode_into` and `decode_region_into`."""
    return {
        "output_type": op.ImageType(call["output_type"]).name,
        "adjust_orientation": call["adjust_orientation"],
        "use_fast_idct": call["use_fast_idct"],
        "jpeg_fancy_upsampling": call["jpeg_fancy_upsampling"],
    }


def places_in_files(call: op.Call) -> FileMap:
    """The coordinate map of a decoder: from the upright images of the files, in their full size, to
    what is decoded, a window, or the image at a smaller scale (`min_size`)."""
    plan = DecodePlan.of(call)
    turn = call["adjust_orientation"]
    scales, headers = plan.headers.rows[:, SCALE].astype(np.float64)[:, None], plan.headers
    if (scales != 1).any():
        most = call["max_pixels"]
        headers = look_at_each(call, lambda data: probe(data, max_pixels=most), most)
    begins = np.zeros((call.size, 2))
    if plan.windows is not None:
        begins = plan.windows[:, 1::-1].astype(np.float64)
    return FileMap(
        headers.shapes("RGB", turn), op.axis_map(np.repeat(1 / scales, 2, axis=1), -begins)
    )


image.not_serializable(*OWN)
image.coordinate_map(places_in_files)
image.shapes(whole_images)


def direct_colors(call: op.Call) -> op.Int64Array:
    """(N,): the number of the color of each file that goes straight to the codec; 0 of the others:
    see `Headers.direct_colors`."""
    if call.types[0].dtype is not op.uint8:
        return np.zeros(call.size, np.int64)
    color = op.ImageType(call["output_type"]).name
    return DecodePlan.of(call).headers.direct_colors(color, call["adjust_orientation"])


def small_files(call: op.Call) -> op.Int64Array:
    """(N, 4): what `Headers.small_jpegs` says of those that go straight to the codec."""
    return DecodePlan.of(call).headers.small_jpegs(direct_colors(call))


def _decode(call: op.Call) -> tuple[Callable[[int, Any], None], op.Int64Array]:
    encoded = functools.cache(call.inputs[0].arrays)  # none are needed where all are small
    plan, options = DecodePlan.of(call), decode_options(call)
    direct = direct_colors(call)
    fast: bool = options["use_fast_idct"]

    def decode_once(sample: int, out: Any) -> None:
        if not direct[sample]:
            decode_into(encoded()[sample], plan.infos[sample], out, **options)
        else:
            color = COLOR_NAMES[int(direct[sample])]
            straight_decoder()(encoded()[sample], plan.infos[sample], color, out, fast)

    def decode(sample: int, out: Any) -> None:
        try:
            decode_once(sample, out)
        except ValueError as error:
            failed(error, plan.infos[sample], sample, lambda: decode_once(sample, out))

    return decode, call.batch_shapes[0].volumes


def _decode_several(call: op.Call) -> DecodeSeveral | None:
    """The small JPEGs."""
    facts, threads = small_files(call), call.pool.num_threads
    return decode_small_jpegs(call.inputs[0], facts, call["use_fast_idct"], threads=threads)


image.fusion_role = Decode(_decode, decode_several=_decode_several)
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
        op.case("at 1/2", jpegs, min_size=(10, 8)).no_oracle(),
        op.case("bad size", jpegs, min_size=0).value_error("`min_size`"),
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
