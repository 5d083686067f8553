"""`albumentations.pixels`: a transform that leaves pixels where they are, with drawn numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op

from .blurs import FILTERS
from .colors import COLORS, Pixels
from .noise import NOISE
from .settings import check_drawn, drawn_of, image_type, settings_of

RULES: Final[dict[str, Pixels]] = COLORS | FILTERS | NOISE
"""By transform, a function of an image, of drawn numbers and of the settings."""


@op.operator("albumentations.pixels", inputs=2, same_shapes=True)
def pixels(
    input: op.SampleType,
    drawn: op.SampleType,
    /,
    *,
    transform: str,
    settings: str = "{}",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Apply a transform of Albumentations on colors, a filter, noise or dropout.

    Args:
        input: uint8 or float32 of 0 to 1; HWC or HW.
        drawn: its numbers for each sample, from `albumentations.draw`.
        transform: its name.
        settings: its arguments, as a JSON object.

    Returns:
        Images of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for unknown transforms, and numbers of channels that it does not take.

    Example:
        from gradiva.ops.image.albumentations.pixels import pixels

        pixels(np.uint8([[0, 100]]), np.array([1.0]), transform="InvertImg")  # [[255, 155]]
    """
    if transform not in RULES:
        raise op.wrong_value("transform", "a known transform", repr(transform))
    settings_of(settings)
    check_drawn(drawn)
    return image_type(input)


pixels.libraries = ("opencv-python-headless",)
pixels.moves = op.IN_PLACE


@pixels.cpu
def _cpu(call: op.Call) -> None:
    rule, settings = RULES[call["transform"]], settings_of(call["settings"])
    (source, numbers), target = call.inputs, call.outputs[0]

    def run(sample: int) -> None:
        image, result = source.array(sample), target.array(sample)
        drawn = drawn_of(numbers, sample)
        if image.size == 0 or drawn is None:
            result[...] = image
        else:
            result[...] = rule(np.ascontiguousarray(image), drawn, settings)

    call.each_sample(run, source.batch_shape.volumes.tolist())


@pixels.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    numbers = op.batch([np.array([1.0]), np.array([0.0]), np.array([1.0])])
    inverted = [255 - images.at(0), images.at(1), 255 - images.at(2)]
    floats = op.samples((4, 5), (3, 3), dtype=op.float32, layout="HW")
    grown = op.batch([np.array([1, 100.0])] * 2)
    shifts = op.batch([np.array([1, 5.0, 5.0, 5.0])])
    planes = op.samples((2, 2, 2))
    return [
        op.case("invert", images, numbers, transform="InvertImg").equals(inverted).no_oracle(),
        op.case("gamma", floats, grown, transform="RandomGamma")
        .equals(floats.arrays())
        .no_oracle(),
        op.case(
            "empty", op.samples(), op.samples(dtype=op.float64, layout=""), transform="InvertImg"
        )
        .equals([])
        .no_oracle(),
        op.case("unknown", images, numbers, transform="Fog").value_error("`transform`"),
        op.case(
            "dtype", op.samples((4, 4), dtype=op.int16, layout="HW"), shifts, transform="InvertImg"
        ).type_error("dtype"),
        op.case("numbers", images, images, transform="InvertImg").type_error("drawn"),
        op.case("two channels", planes, shifts, transform="HueSaturationValue").value_error(
            "sample 0"
        ),
    ]
