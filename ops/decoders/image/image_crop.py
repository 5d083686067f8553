"""`decoders.image_crop`: a window of each image file as pixels."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.image.crop_window import CropWindow, window_of

from .arguments import DECODING, OWN, WITHOUT_EFFECT, DecodedWindow
from .gpu import decode_on_gpu
from .image import decoded_type, encode, picture, places_in_files, whole_images
from .plan import DecodePlan
from .region import place_windows, region


@op.operator(
    "decoders.image_crop",
    schema="decoders__ImageCrop",
    formerly=("experimental.decoders.image_crop", "image_decoder_crop"),
    old_arguments=WITHOUT_EFFECT,
)
@op.uses_arguments(CropWindow, *DECODING)
def image_crop(input: op.SampleType, /, **options: op.Unpack[DecodedWindow]) -> op.SampleType:
    """Decode a window of each image: the bits of `crop` after `decoders.image`, in less time.

    Of most JPEG files little more than the window is decoded; that the rest is there is checked.
    `crop_d` and `crop_pos_z` are about volumes, which no image is.

    Args:
        input: the bytes of one file per sample: uint8, 1-D; the formats of `decoders.image`.
        adjust_orientation: the window is in the upright image.

    Returns:
        HWC samples.

    Raises:
        OperatorValueError: naming the sample and its file, for a window that leaves the image.
        OperatorRuntimeError: for data that cannot be decoded.

    Example:
        data = np.fromfile("cat.jpg", np.uint8)
        gradiva.decoders.image_crop(data, crop=(224, 224)).shape  # (224, 224, 3)
    """
    return decoded_type(input, options["dtype"])


@image_crop.shapes
def _shapes(call: op.Call) -> DecodePlan:
    plan = whole_images(call)
    anchors, windows = window_of(call, plan.shapes, "HWC")
    return place_windows(call, plan, np.hstack([anchors[:, :2], windows[:, :2]]))


image_crop.not_serializable(*OWN)
image_crop.fusion_role = region
image_crop.cuts_out = ("decoders.image", "crop")
image_crop.coordinate_map(places_in_files)
image_crop.cpu(region.run)
image_crop.mixed_gpu(decode_on_gpu)


@image_crop.cases
def _cases() -> list[op.Case]:
    pictures = [picture(33, 47), picture(16, 20), picture(61, 20)]
    files = op.batch([encode(p, f) for p, f in zip(pictures, ("PNG", "BMP", "PPM"), strict=True)])
    jpegs = op.batch([encode(p, "JPEG", quality=90) for p in pictures])
    cut = op.batch([jpegs.at(0), jpegs.at(1)[:400]])
    nothing = op.batch(np.empty((0, 1), np.uint8))
    middle = [pictures[0][12:22, 18:30], pictures[1][3:13, 4:16], pictures[2][26:36, 4:16]]
    low = [pictures[0][33 - 5 :, :4], pictures[1][16 - 6 :, :5], pictures[2][61 - 7 :, :6]]
    corner = {"crop_h": [5, 6, 7], "crop_w": [4, 5, 6], "crop_pos_x": 0, "crop_pos_y": 1}
    return [
        op.case("middle", files, crop=(10, 12)).equals(middle),
        op.case("corner, per sample", files, **corner).equals(low),
        op.case("jpeg", jpegs, crop=(9, 11), crop_pos_y=0.1),
        op.case("nothing given", files).equals(pictures),
        op.case("float, gray", jpegs, crop=(8, 8), dtype=op.float32, output_type=2),
        op.case("empty", nothing, crop=(4, 4)).equals([]),
        op.case("too large", jpegs, crop=(20, 10)).value_error("sample 1"),
        op.case("cut short", cut, crop=(4, 4)).runtime_error("sample 1"),
        op.case("bad position", jpegs, crop=(4, 4), crop_pos_x=2).value_error("`crop_pos_x`"),
        op.case("one size", jpegs, crop_w=4).value_error("crop_h"),
        op.case("not encoded", op.batch([pictures[0]])).type_error("axes"),
    ]
