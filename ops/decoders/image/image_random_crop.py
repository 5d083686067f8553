"""`decoders.image_random_crop`: a random window of each image file as pixels."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.random.crop_window import check_window_arguments, random_windows

from .arguments import DECODING, OWN, WITHOUT_EFFECT, RandomlyDecoded
from .gpu import decode_on_gpu
from .image import decoded_type, encode, picture, places_in_files, whole_images
from .plan import DecodePlan
from .region import place_windows, region


@op.operator(
    "decoders.image_random_crop",
    schema="decoders__ImageRandomCrop",
    formerly=("experimental.decoders.image_random_crop", "image_decoder_random_crop"),
    old_arguments=WITHOUT_EFFECT,
    random=True,
)
@op.uses_arguments(..., *DECODING)
def image_random_crop(
    input: op.SampleType,
    /,
    *,
    random_area: op.Floats = (0.08, 1.0),
    random_aspect_ratio: op.Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    **options: op.Unpack[RandomlyDecoded],
) -> op.SampleType:
    """Decode a random window of each image.

    The window is a function of the random key of the call, the position of the sample, the size of
    the image, `random_area`, `random_aspect_ratio` and `num_attempts`; `random_resized_crop` and
    `random_crop_generator` draw the same one (`ops/random/crop_window.py`).

    Args:
        input: the bytes of one file per sample: uint8, 1-D; the formats of `decoders.image`.
        random_area: (low, high), as fractions of the image's area: 0.08 to 1 by default.
        random_aspect_ratio: (low, high) of width / height, 3/4 to 4/3 by default; log-uniform.
        num_attempts: how many windows are tried. If none fits into the image, the largest one of
            the allowed ratio nearest to the image's is taken, within random_area, at a random
            place.
        adjust_orientation: the window is in the upright image.

    Returns:
        HWC samples.

    Raises:
        OperatorValueError: for bad ranges.
        OperatorRuntimeError: with the sample and its file, for data that cannot be decoded.

    Example:
        data = np.fromfile("cat.jpg", np.uint8)
        window = gradiva.decoders.image_random_crop(data, random_area=(0.3, 1.0))
        image = gradiva.resize(window, size=(224, 224))
    """
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    return decoded_type(input, options["dtype"])


@image_random_crop.shapes
def _shapes(call: op.Call) -> DecodePlan:
    plan = whole_images(call)
    windows = random_windows(call, plan.shapes[:, 0], plan.shapes[:, 1])
    return place_windows(call, plan, windows, inside=True)


image_random_crop.not_serializable(*OWN)
image_random_crop.fusion_role = region
image_random_crop.cuts_out = ("decoders.image", "random_window")
image_random_crop.coordinate_map(places_in_files)
image_random_crop.cpu(region.run)
image_random_crop.mixed_gpu(decode_on_gpu)


@image_random_crop.cases
def _cases() -> list[op.Case]:
    pictures = [picture(33, 47), picture(16, 20), picture(61, 20)]
    jpegs = op.batch([encode(p, "JPEG", quality=90) for p in pictures])
    files = op.batch([encode(p, f) for p, f in zip(pictures, ("PNG", "BMP", "PPM"), strict=True)])
    cut = op.batch([jpegs.at(0), jpegs.at(1)[:400]])
    nothing = op.batch(np.empty((0, 1), np.uint8))
    whole = {"num_attempts": 0, "random_aspect_ratio": (0.1, 10.0)}
    return [
        op.case("default", jpegs, seed=1).no_oracle(),
        op.case("whole images", files, **whole, seed=1).equals(pictures),
        op.case("small", jpegs, random_area=(0.1, 0.2), seed=2, dtype=op.float32).no_oracle(),
        op.case("empty", nothing).equals([]),
        op.case("no range", jpegs, random_area=0.5).value_error("`random_area`"),
        op.case("bad ratio", jpegs, random_aspect_ratio=(-1, 1)).value_error(
            "`random_aspect_ratio`"
        ),
        op.case("attempts", jpegs, num_attempts=-1).value_error("`num_attempts`"),
        op.case("cut short", cut).runtime_error("sample 1"),
        op.case("not encoded", op.batch([pictures[0]])).type_error("axes"),
    ]
