"""`decoders.image_slice`: a region of each image file as pixels."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.indexing.slice_region import SliceRegion, check_region, slice_region

from .arguments import DECODING, OWN, WITHOUT_EFFECT, SlicedImage
from .gpu import decode_on_gpu
from .image import decoded_type, encode, picture, places_in_files, whole_images
from .plan import DecodePlan
from .region import place_windows, region


@op.operator(
    "decoders.image_slice",
    schema="decoders__ImageSlice",
    formerly=("experimental.decoders.image_slice", "image_decoder_slice"),
    old_arguments=WITHOUT_EFFECT,
    inputs=(1, 3),
)
@op.uses_arguments(SliceRegion, *DECODING)
def image_slice(
    input: op.SampleType,
    anchor: op.SampleType | op.Value | None = None,
    extent: op.SampleType | op.Value | None = None,
    /,
    **options: op.Unpack[SlicedImage],
) -> op.SampleType:
    """Decode a region of each image: the bits of `slice` after `decoders.image`, in less time.

    Both ends of the region are rounded to pixels, half up. It may differ per sample, but not
    axis_names, normalized_anchor and normalized_shape.

    Args:
        input: the bytes of one file per sample: uint8, 1-D; the formats of `decoders.image`.
        axes: 0 is the height of the upright image, 1 the width; (1, 0) by default.
        adjust_orientation: the window is in the upright image.

    Returns:
        HWC samples.

    Raises:
        OperatorValueError: naming the sample and its file, for a region that is empty or leaves the
            image.
        OperatorRuntimeError: for data that cannot be decoded.

    Example:
        data = np.fromfile("cat.jpg", np.uint8)
        gradiva.decoders.image_slice(data, start=(50, 40), end=(250, 140)).shape  # (100, 200, 3)
    """
    check_region(anchor, extent, options)
    return decoded_type(input, options["dtype"])


@image_slice.shapes
def _shapes(call: op.Call) -> DecodePlan:
    plan = whole_images(call)
    region = slice_region(call, plan.shapes[:, :2], "HW")
    return place_windows(call, plan, np.hstack(region))


image_slice.not_serializable(*OWN)
image_slice.fusion_role = region
image_slice.cuts_out = ("decoders.image", "slice")
image_slice.coordinate_map(places_in_files)
image_slice.cpu(region.run)
image_slice.mixed_gpu(decode_on_gpu)


@image_slice.cases
def _cases() -> list[op.Case]:
    pictures = [picture(33, 47), picture(16, 20), picture(61, 20)]
    files = op.batch([encode(p, f) for p, f in zip(pictures, ("PNG", "BMP", "PPM"), strict=True)])
    jpegs = op.batch([encode(p, "JPEG", quality=90) for p in pictures])
    anchors = op.batch([np.array(a, np.int32) for a in ((1, 2), (3, 4), (5, 6))])
    extents = op.batch([np.array(a, np.int32) for a in ((7, 8), (9, 10), (11, 12))])
    parts = [
        op.batch([np.array([x, y], np.float32) for x, y in rows])
        for rows in (((0.1, 0.2), (0.3, 0.4), (0.5, 0.6)), ((0.25, 0.5), (0.5, 0.25), (0.3, 0.4)))
    ]
    nothing = op.batch(np.empty((0, 1), np.uint8))
    pixels = [pictures[0][2:10, 1:8], pictures[1][4:14, 3:12], pictures[2][6:18, 5:16]]
    rows = [p[2:9] for p in pictures]
    return [
        op.case("pixels", files, anchors, extents).equals(pixels),
        op.case("fractions", jpegs, *parts),
        op.case("start and end", jpegs, start=(3, 2), end=(12, 9)),
        op.case("relative", jpegs, rel_start=(0.2, 0.1), rel_shape=(0.5, 0.4)),
        op.case("rows", files, start=2, shape=7, axis_names="H").equals(rows),
        op.case("axes per sample", files, end=5, axes=[[0], [1], [0]])
        .equals([pictures[0][:5], pictures[1][:, :5], pictures[2][:5]])
        .no_oracle(),
        op.case("empty", nothing, end=(3, 4)).equals([]),
        op.case("outside", jpegs, start=(0, 10), shape=(5, 10)).value_error("sample 1"),
        op.case("nothing in it", jpegs, start=(5, 5), end=(5, 9)).value_error("empty"),
        op.case("both", jpegs, anchors, extents, start=3).value_error("not both"),
        op.case("none", jpegs).value_error("none was given"),
        op.case("anchor alone", jpegs, anchors).type_error("shape"),
        op.case("two ends", jpegs, end=4, shape=4).value_error("exclude"),
        op.case("bad axis", jpegs, end=4, axes=(0, 2)).value_error("`axes`"),
        op.case("bad name", jpegs, end=4, axis_names="WC").value_error("`axis_names`"),
        op.case("three numbers", jpegs, end=(4, 4, 4)).value_error("`end`"),
    ]
