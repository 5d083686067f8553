"""The arguments that the decoders of images have in common."""

from __future__ import annotations

from typing import TypedDict

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import MAX_PIXELS
from gradiva.ops.image.crop_window import CropWindow
from gradiva.ops.indexing.slice_region import SliceRegion


@op.argument_group(
    output_type=op.ImageType.RGB,
    dtype=op.uint8,
    adjust_orientation=True,
    use_fast_idct=False,
    jpeg_fancy_upsampling=False,
    affine=True,
    min_size=None,
    max_pixels=MAX_PIXELS,
)
class Pixels(TypedDict, total=False):
    """
    Args:
        output_type: RGB, BGR, GRAY (one channel), YCbCr, or ANY_DATA: the channels the file has.
        dtype: uint8 (default), int8, uint16, int16, uint32, int32 or float32. Values are rescaled
            to the range of the dtype, 0..1 for floats: 16-bit files keep their precision in uint16.
        adjust_orientation: turn the image upright by its EXIF orientation.
        use_fast_idct: a faster, less exact inverse DCT for JPEG; nvJPEG has none.
        jpeg_fancy_upsampling: smooth chroma upsampling; always on when decoding on the CPU.
        min_size: N, or (height, width): JPEG is decoded at 1/2, 1/4 or 1/8 of its size, which takes
            a fraction of the time, if the upright image then still has at least so many rows and
            columns. Windows are in that smaller image. Other formats are not scaled.
        max_pixels: an image with more, by its header and before `min_size`, is refused; 2**28 by
            default. A file of a kilobyte can promise an image that fills the memory.
    """

    output_type: op.ImageTypeLike
    dtype: op.DTypeLike
    adjust_orientation: bool
    use_fast_idct: bool
    jpeg_fancy_upsampling: bool
    affine: bool
    min_size: op.Ints | None
    max_pixels: int


@op.argument_group(
    device_memory_padding=16777216,
    device_memory_padding_jpeg2k=0,
    host_memory_padding=8388608,
    host_memory_padding_jpeg2k=0,
    hw_decoder_load=None,
    hybrid_huffman_threshold=1000000,
)
class OnGpu(TypedDict, total=False):
    """
    Args:
        affine, device_memory_padding, device_memory_padding_jpeg2k, host_memory_padding,
            host_memory_padding_jpeg2k, hw_decoder_load, hybrid_huffman_threshold: without effect on
            the CPU; they steer decoding on a GPU.
    """

    device_memory_padding: int
    device_memory_padding_jpeg2k: int
    host_memory_padding: int
    host_memory_padding_jpeg2k: int
    hw_decoder_load: float | None
    hybrid_huffman_threshold: int


@op.argument_group(preallocate_height_hint=0, preallocate_width_hint=0)
class Preallocated(TypedDict, total=False):
    """
    Args:
        preallocate_height_hint, preallocate_width_hint: the extents of the largest image that a GPU
            decodes.
    """

    preallocate_height_hint: int
    preallocate_width_hint: int


@op.argument_group(on_error="raise", fill_value=0.0)
class Replacement(TypedDict, total=False):
    """
    Args:
        on_error, fill_value: the error policy for a file that cannot be decoded; see
            `docs/errors.md`. "raise" (default) fails the batch. "skip" takes the sample out of the
            batch. "replace" puts an image in its place whose values are all `fill_value` (0), of
            the shape that the header or the window gives, or of 1 x 1 pixels.
    """

    on_error: op.OnError
    fill_value: float


OWN = "min_size", "max_pixels", "fill_value"
"""Those that DALI does not have."""
DECODING = (Pixels, OnGpu, Preallocated, Replacement)
WITHOUT_EFFECT = dict.fromkeys(("memory_stats", "split_stages", "use_chunk_allocator"))
"""Arguments of old scripts, of decoders of a part of the image."""


class RandomlyDecoded(Pixels, OnGpu, Preallocated, Replacement, op.Sampled, total=False):
    """What `decoders.image_random_crop` takes."""


class Decoded(Pixels, OnGpu, Preallocated, Replacement, op.Common, total=False):
    """What all decoders of images take."""


class SlicedImage(SliceRegion, Decoded, total=False):
    """What `decoders.image_slice` takes."""


class DecodedWindow(CropWindow, Decoded, total=False):
    """What `decoders.image_crop` takes."""
