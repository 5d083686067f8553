"""Color operators against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import ImageType

from .pictures import Array, pictures
from .reference import DTYPES, REFUSALS, check, reference

SHARED = ("uint8", "int16", "int32", "float16", "float32")
"""What DALI takes; ours also takes int8 and uint16."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "hue": {"hue": np.array([0, 40, -300], np.float32)},
    "saturation": {"saturation": np.array([0, 0.4, 3], np.float32)},
    "hsv": {"hue": 25.0, "saturation": np.array([0, 1, 3], np.float32), "value": 0.8},
    "color_twist": {"hue": -70.0, "saturation": 1.4, "contrast": np.array([0, 0.5, 2], np.float32),
                    "brightness": np.array([1.2, 1, 0.5], np.float32)},
}  # fmt: skip
SPACES = (ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr)


def noise(name: str) -> list[Array]:
    generator = np.random.default_rng(3)
    if name.startswith("float"):
        arrays: list[Array] = [generator.uniform(-0.2, 1.2, (9, 8, 3)) for _ in range(3)]
    else:
        least = 0 if name == "uint8" else -400
        arrays = [generator.integers(least, 256, (9, 8, 3)) for _ in range(3)]
    return [array.astype(name) for array in arrays]


@pytest.mark.parametrize("target", SHARED)
@pytest.mark.parametrize("source", SHARED)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_dtypes(name: str, source: str, target: str) -> None:
    images = batch(noise(source), layout="HWC")
    check(name, images, dtype=DTYPES[target], **ARGUMENTS[name])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_default_dtype(name: str) -> None:
    for source in SHARED:
        check(name, batch(noise(source), layout="HWC"), **ARGUMENTS[name])


# Sines and cosines may be off by a last bit in DALI: a rounding may fall the other way.
@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "brightness": st.floats(-2, 3, width=32),
            "contrast": st.floats(-2, 3, width=32),
            "hue": st.floats(-1000, 1000, width=32),
            "saturation": st.floats(-2, 3, width=32),
        },
    ),
    target=st.sampled_from(("uint8", "int16", "float32")),
)
def test_color_twist(arguments: dict[str, Any], target: str) -> None:
    exact = "hue" not in arguments
    check("color_twist", pictures(), exact=exact, dtype=DTYPES[target], **arguments)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("HWC", (4, 5, 3)),
        ("", (4, 5, 3)),
        ("FHWC", (2, 4, 5, 3)),
        ("", (2, 4, 5, 3)),
        ("DHWC", (2, 4, 5, 3)),
        ("HW", (4, 5)),
        ("WC", (4, 3)),
        ("", (5, 3)),
    ],
)
def test_layouts(name: str, layout: str, shape: tuple[int, ...]) -> None:
    images = [np.random.default_rng(k).integers(0, 256, shape, np.uint8) for k in range(3)]
    check(name, images, layout=layout, both_may_refuse=True, **ARGUMENTS[name])


@pytest.mark.parametrize("name", [*ARGUMENTS, "color_space_conversion"])
def test_channels_first_is_ours_alone(name: str) -> None:
    arguments = ARGUMENTS.get(name, {"image_type": ImageType.RGB, "output_type": ImageType.YCbCr})
    images = [np.random.default_rng(k).integers(0, 256, (40, 50, 3), np.uint8) for k in range(3)]
    planes = [np.ascontiguousarray(image.transpose(2, 0, 1)) for image in images]
    with pytest.raises(REFUSALS):
        reference(name, [planes], layout="CHW", **arguments)
    operator: Any = getattr(gradiva, name)
    first = operator(batch(planes, layout="CHW"), **arguments)
    last = operator(batch(images, layout="HWC"), **arguments)
    for k in range(3):
        np.testing.assert_array_equal(first.at(k).transpose(1, 2, 0), last.at(k))


@pytest.mark.parametrize("target", SPACES)
@pytest.mark.parametrize("source", SPACES)
def test_color_space_conversion(source: ImageType, target: ImageType) -> None:
    """Exact on half a million colors; equal spaces are refused by both."""
    channels = 1 if source is ImageType.GRAY else 3
    image = np.random.default_rng(0).integers(0, 256, (700, 700, channels), np.uint8)
    check(
        "color_space_conversion",
        [image],
        layout="HWC",
        both_may_refuse=True,
        image_type=source,
        output_type=target,
    )


@pytest.mark.parametrize("shape", [(4, 5, 3), (2, 4, 5, 3), (4, 5), (4, 5, 4), (4, 5, 1)])
@pytest.mark.parametrize("layout", ["given", ""])
@pytest.mark.parametrize("name", ["uint8", "int16", "float32"])
def test_color_space_conversion_refuses(shape: tuple[int, ...], layout: str, name: str) -> None:
    letters = {2: "HW", 3: "HWC", 4: "FHWC"}[len(shape)] if layout else ""
    check(
        "color_space_conversion",
        [np.ones(shape, name)],
        layout=letters,
        both_may_refuse=True,
        image_type=ImageType.RGB,
        output_type=ImageType.GRAY,
    )


@pytest.mark.parametrize("name", ["hue", "saturation", "color_twist"])
def test_image_type_is_ignored_there(name: str) -> None:
    """DALI takes channels as red, green, blue whatever `image_type` says; ours refuses."""
    image = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    given = {key: value for key, value in ARGUMENTS[name].items() if np.ndim(value) == 0}
    plain = reference(name, [[image]], layout="HWC", **given)
    swapped = reference(name, [[image]], layout="HWC", image_type=ImageType.BGR, **given)
    np.testing.assert_array_equal(plain[0], swapped[0])
    with pytest.raises(gradiva.OperatorValueError, match="image_type"):
        getattr(gradiva, name)(image, image_type=ImageType.BGR)
