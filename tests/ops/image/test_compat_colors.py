"""Colors with the bits of torchvision, where it is installed, and of Pillow; in all modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn
from gradiva.capture.compiler.optimize import optimize

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
SIZES = ((1, 1), (2, 7), (3, 3), (31, 17), (64, 47))


def image(seed: int, shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == np.float32:
        return generator.random(shape, np.float32)
    return generator.integers(0, 256, shape, np.uint8)


def one(name: str, sample: Array, layout: str = "HWC", **arguments: Any) -> Array:
    operator = getattr(gradiva, name)
    return np.asarray(operator(gradiva.batch([sample], layout=layout), **arguments).at(0))


GRAY = {"image_type": "RGB", "output_type": "GRAY"}
# Our call, and the name and the arguments of torchvision's function.
BLENDS: list[tuple[str, dict[str, Any], str, tuple[float, ...]]] = [
    (name, {name: factor}, f"adjust_{name}", (factor,))
    for name in ("brightness", "contrast", "saturation", "sharpness")
    for factor in (0.0, 0.3, 1.0, 1.7, 2.3)
]
HUES: list[tuple[str, dict[str, Any], str, tuple[float, ...]]] = [
    ("hue", {"hue": 360 * turn}, "adjust_hue", (turn,)) for turn in (-0.5, -0.21, 0.0, 0.1, 0.5)
]
GAMMAS: list[tuple[str, dict[str, Any], str, tuple[float, ...]]] = [
    ("gamma", {"gamma": exponent, "gain": gain}, "adjust_gamma", (exponent, gain))
    for exponent, gain in ((0.5, 1.0), (1.0, 1.0), (2.0, 1.3), (2.2, 1.0), (0.0, 0.5), (0.45, 1.0))
]
OTHERS: list[tuple[str, dict[str, Any], str, tuple[float, ...]]] = [
    ("color_space_conversion", GRAY, "rgb_to_grayscale", ()),
    ("autocontrast", {}, "autocontrast", ()),
    ("equalize", {}, "equalize", ()),
]
CALLS = [*BLENDS, *HUES, *GAMMAS, *OTHERS]
WITHOUT: list[tuple[str, dict[str, Any], str, tuple[float, ...]]] = [
    *(("posterize", {"bits": bits}, "posterize", (bits,)) for bits in (0, 1, 3, 8)),
    *(("solarize", {"threshold": at}, "solarize", (at,)) for at in (0.0, 100.0, 255.0)),
]


def functions() -> Any:
    return pytest.importorskip("torchvision.transforms.v2.functional")


def by_torchvision(sample: Array, name: str, arguments: tuple[Any, ...]) -> Array:
    """Its function, on a tensor (C, H, W); the result as (H, W, C)."""
    torch = pytest.importorskip("torch")
    functional = functions()
    tensor = torch.from_numpy(sample).permute(2, 0, 1).contiguous()
    return np.asarray(getattr(functional, name)(tensor, *arguments).permute(1, 2, 0).numpy())


def by_torchvision_of_pillow(sample: Array, name: str, arguments: tuple[Any, ...]) -> Array:
    made = np.asarray(getattr(functions(), name)(Image.fromarray(sample), *arguments))
    return made if made.ndim == 3 else made[..., None]


def fuses() -> bool:
    torch = pytest.importorskip("torch")
    return bool(torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"))


@pytest.mark.parametrize(("name", "ours", "their", "values"), [*CALLS, *WITHOUT])
def test_bytes_of_torchvision(name: str, ours: Any, their: str, values: Any) -> None:
    functions()
    if not fuses():
        pytest.skip("torch rounds twice on this processor")
    more = {} if name in ("posterize", "solarize") else {"compat": "torchvision"}
    for seed, size in enumerate(SIZES):
        sample = image(seed, (*size, 3))
        expected = by_torchvision(sample, their, values)
        np.testing.assert_array_equal(one(name, sample, **ours, **more), expected)
        planes = np.ascontiguousarray(np.moveaxis(sample, 2, 0))
        made = one(name, planes, "CHW", **ours, **more)
        np.testing.assert_array_equal(made, np.moveaxis(expected, 2, 0))


EXACT_FLOATS = ("brightness", "saturation", "hue", "color_space_conversion", "autocontrast")


@pytest.mark.parametrize(("name", "ours", "their", "values"), CALLS[:-1])
def test_floats_of_torchvision(name: str, ours: Any, their: str, values: Any) -> None:
    functions()
    if not fuses():
        pytest.skip("torch rounds twice on this processor")
    for seed, size in enumerate(SIZES):
        sample = image(seed, (*size, 3), np.float32)
        made = one(name, sample, **ours, compat="torchvision")
        expected = by_torchvision(sample, their, values)
        if name in EXACT_FLOATS:
            np.testing.assert_array_equal(made, expected)
        else:
            np.testing.assert_allclose(made, expected, rtol=0, atol=5e-7)


@pytest.mark.parametrize("bits", [0, 2, 8])
def test_float_levels_of_torchvision(bits: int) -> None:
    sample = image(3, (9, 7, 3), np.float32) * np.float32(1.2) - np.float32(0.1)
    expected = by_torchvision(sample, "posterize", (bits,))
    np.testing.assert_array_equal(one("posterize", sample, bits=bits), expected)
    expected = by_torchvision(sample, "solarize", (0.5,))
    np.testing.assert_array_equal(one("solarize", sample), expected)


@pytest.mark.parametrize(("name", "ours", "their", "values"), [*CALLS, *WITHOUT[1:]])
def test_bytes_of_torchvision_with_pillow(name: str, ours: Any, their: str, values: Any) -> None:
    """What torchvision makes of images of Pillow."""
    functions()
    more = {} if name in ("posterize", "solarize") else {"compat": "pil"}
    for seed, size in enumerate(SIZES):
        sample = image(seed, (*size, 3))
        expected = by_torchvision_of_pillow(sample, their, values)
        np.testing.assert_array_equal(one(name, sample, **ours, **more), expected)


PILLOW: dict[str, Callable[[Any, float], Any]] = {
    "brightness": lambda picture, factor: ImageEnhance.Brightness(picture).enhance(factor),
    "contrast": lambda picture, factor: ImageEnhance.Contrast(picture).enhance(factor),
    "saturation": lambda picture, factor: ImageEnhance.Color(picture).enhance(factor),
    "sharpness": lambda picture, factor: ImageEnhance.Sharpness(picture).enhance(factor),
}
BARE: dict[str, Callable[[Any], Any]] = {
    "equalize": ImageOps.equalize,
    "autocontrast": ImageOps.autocontrast,
}


@pytest.mark.parametrize("name", sorted(PILLOW))
@pytest.mark.parametrize("channels", [1, 3])
def test_blends_of_pillow(name: str, channels: int) -> None:
    if name == "saturation" and channels == 1:
        return  # `saturation` takes RGB images only
    for seed, size in enumerate(SIZES):
        sample = image(seed, (*size, channels))
        picture = Image.fromarray(sample if channels == 3 else sample[..., 0])
        for factor in (0.0, 0.6, 1.0, 2.5):
            expected = np.asarray(PILLOW[name](picture, factor)).reshape(sample.shape)
            given: dict[str, Any] = {name: factor}
            made = one(name, sample, compat="pil", **given)
            np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("name", sorted(BARE))
def test_stretches_of_pillow(name: str) -> None:
    for seed, size in enumerate((*SIZES, (100, 90))):
        for low, high in ((0, 256), (90, 140), (7, 8)):
            sample = (low + image(seed, (*size, 3)).astype(int) % (high - low)).astype(np.uint8)
            expected = np.asarray(BARE[name](Image.fromarray(sample)))
            np.testing.assert_array_equal(one(name, sample, compat="pil"), expected)
            if name == "equalize":
                made = one(name, sample, compat="torchvision")
                np.testing.assert_array_equal(made, expected)


def test_levels_of_pillow() -> None:
    sample = image(5, (40, 30, 3))
    for bits in (1, 4, 8):
        expected = np.asarray(ImageOps.posterize(Image.fromarray(sample), bits))
        np.testing.assert_array_equal(one("posterize", sample, bits=bits), expected)
    for threshold in (0, 77, 256):
        expected = np.asarray(ImageOps.solarize(Image.fromarray(sample), threshold))
        np.testing.assert_array_equal(one("solarize", sample, threshold=threshold), expected)


COLORS = np.array([[[200, 30, 90], [3, 250, 77]], [[128, 128, 128], [0, 255, 9]]], np.uint8)
# Made with torchvision 0.28.0 and torch 2.13.0, on a CPU with AVX2.
KNOWN: dict[str, tuple[dict[str, Any], list[int]]] = {
    "brightness": ({"brightness": 0.7}, [140, 21, 63, 2, 175, 53, 89, 89, 89, 0, 178, 6]),
    "contrast": ({"contrast": 1.3}, [221, 0, 77, 0, 255, 61, 127, 127, 127, 0, 255, 0]),
    "saturation": ({"saturation": 1.3}, [233, 12, 90, 0, 255, 53, 128, 128, 128, 0, 255, 0]),
    "hue": ({"hue": 36.0}, [200, 72, 30, 3, 250, 226, 128, 128, 128, 0, 255, 162]),
    "gamma": ({"gamma": 0.7}, [215, 57, 123, 11, 252, 110, 158, 158, 158, 0, 255, 24]),
    "autocontrast": ({}, [254, 0, 173, 3, 249, 145, 163, 111, 254, 0, 254, 0]),
    "color_space_conversion": (GRAY, [87, 156, 127, 150]),
}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known_values(name: str) -> None:
    arguments, expected = KNOWN[name]
    made = one(name, COLORS, compat="torchvision", **arguments)
    assert made.reshape(-1).tolist() == expected


def test_known_sharpness() -> None:
    gray = (np.arange(0, 250, 10).reshape(5, 5, 1) * 7).astype(np.uint8)
    made = one("sharpness", gray, sharpness=1.7, compat="torchvision")
    assert made[1:4, 1:4, 0].tolist() == [[191, 255, 6], [0, 44, 142], [96, 193, 255]]
    made[1:4, 1:4] = gray[1:4, 1:4]
    np.testing.assert_array_equal(made, gray)


def recorded(batches: list[Array], name: str, **arguments: Any) -> list[list[Array]]:
    """The call in a pipeline, of batches of images HWC."""

    @gradiva.pipeline_def(batch_size=len(batches), num_threads=2, prefetch_queue_depth=1)
    def pipeline() -> Any:
        images = fn.external_source(source=[batches] * 2, layout="HWC")
        given = {
            key: fn.external_source(source=[[np.float64(one) for one in value]] * 2)
            if isinstance(value, list)
            else value
            for key, value in arguments.items()
        }
        return getattr(fn, name)(images, **given)

    made = pipeline()
    made.build()
    runs = [made.run()[0] for _ in range(2)]
    return [[np.asarray(run.at(i)) for i in range(len(batches))] for run in runs]


@pytest.mark.parametrize("compat", ["torchvision", "pil"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("brightness", {"brightness": [0.4, 1.6]}),
        ("contrast", {"contrast": [0.4, 1.6]}),
        ("saturation", {"saturation": [0.4, 1.6]}),
        ("hue", {"hue": [40.0, -100.0]}),
        ("sharpness", {"sharpness": [0.4, 1.6]}),
        ("gamma", {"gamma": [0.4, 1.6]}),
        ("color_space_conversion", GRAY),
        ("equalize", {}),
        ("autocontrast", {}),
    ],
)
def test_same_bits_in_a_pipeline_and_for_each_sample(
    name: str, arguments: Any, compat: str
) -> None:
    images = [image(1, (20, 30, 3)), image(2, (7, 9, 3))]
    batch = gradiva.batch(images, layout="HWC")
    eager = getattr(gradiva, name)(batch, compat=compat, **arguments)
    for made in recorded(images, name, compat=compat, **arguments):
        for number in range(2):
            np.testing.assert_array_equal(made[number], np.asarray(eager.at(number)))
    for number in range(2):
        own = {
            key: value[number] if isinstance(value, list) else value
            for key, value in arguments.items()
        }
        alone = one(name, images[number], compat=compat, **own)
        np.testing.assert_array_equal(np.asarray(eager.at(number)), alone)
    frames = gradiva.batch([np.stack([images[0]] * 2)], layout="FHWC")
    own = {k: v[0] if isinstance(v, list) else v for k, v in arguments.items()}
    for frame in np.asarray(getattr(gradiva, name)(frames, compat=compat, **own).at(0)):
        np.testing.assert_array_equal(frame, np.asarray(eager.at(0)))


def test_a_crop_stays_behind_a_contrast_of_the_whole_image() -> None:
    """A crop is moved before what works pixel by pixel; a mean is of all pixels."""
    sample = image(4, (20, 30, 3))

    def body(images: Any) -> Any:
        images = gradiva.contrast(images, contrast=0.5, compat="torchvision")
        return gradiva.crop(images, crop=(5, 6), crop_pos_x=0.0, crop_pos_y=0.0)

    batch = gradiva.batch([sample], layout="HWC")
    compiled = gradiva.capture.compile(body)
    expected = one("contrast", sample, contrast=0.5, compat="torchvision")[:5, :6]
    np.testing.assert_array_equal(np.asarray(body(batch).at(0)), expected)
    np.testing.assert_array_equal(np.asarray(compiled(batch).at(0)), expected)
    graph = str(optimize(gradiva.capture.trace(body, batch)))
    assert graph.index("contrast") < graph.index("crop"), graph


def test_what_is_refused() -> None:
    batch = gradiva.batch([image(0, (4, 5, 3))], layout="HWC")
    with pytest.raises(OperatorValueError, match="`compat`"):
        gradiva.brightness(batch, brightness=2.0, compat="opencv")
    with pytest.raises(OperatorValueError, match="`brightness_shift`"):
        gradiva.brightness(batch, brightness_shift=0.1, compat="pil")
    with pytest.raises(OperatorValueError, match="`contrast_center`"):
        gradiva.contrast(batch, contrast_center=3.0, compat="torchvision")
    with pytest.raises(OperatorValueError, match="`contrast`"):
        gradiva.contrast(batch, contrast=-1.0, compat="torchvision")
    with pytest.raises(OperatorValueError, match="`hue`"):
        gradiva.hue(batch, hue=181.0, compat="torchvision")
    with pytest.raises(OperatorTypeError, match="`dtype`"):
        gradiva.saturation(batch, saturation=0.5, dtype=gradiva.float32, compat="torchvision")
    with pytest.raises(OperatorTypeError, match="`compat`"):
        gradiva.hue(gradiva.cast(batch, dtype="float32"), hue=5.0, compat="pil")
    with pytest.raises(OperatorValueError, match="`compat`"):
        gradiva.color_space_conversion(
            batch, image_type="RGB", output_type="YCbCr", compat="torchvision"
        )
    four = gradiva.batch([image(0, (4, 5, 4))], layout="HWC")
    with pytest.raises(OperatorValueError, match="channels"):
        gradiva.brightness(four, brightness=0.5, compat="torchvision")


def test_a_pipeline_with_compat_cannot_be_stored() -> None:
    @gradiva.pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        images = fn.external_source(source=lambda: [image(0, (4, 5, 3))], layout="HWC")
        return fn.contrast(images, contrast=0.5, compat="pil")

    with pytest.raises(OperatorValueError, match="no place for this argument"):
        pipeline().serialize()
