"""Each function against torchvision's own: images of Pillow and tensors, of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, OperatorValueError

from .pictures import CHANNELS, SIZES, assert_same, picture, pixels, planes

functional: Any = gradiva.experimental.torchvision.functional
torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torchvision.transforms.v2.functional")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

MODES: Any = gradiva.experimental.torchvision.InterpolationMode
EVERY = "a value for each channel"
Call = tuple[str, tuple[Any, ...], dict[str, Any]]

MOVES: list[Call] = [
    ("horizontal_flip", (), {}),
    ("vertical_flip", (), {}),
    *(("center_crop", (size,), {}) for size in (5, (9, 30), [20, 8], [1], (14, 16))),
    *(("crop", box, {}) for box in ((2, 3, 4, 5), (-2, -1, 30, 20), (20, 20, 4, 3))),
    ("pad", (3,), {}),
    ("pad", ([1, 2],), {"fill": 5}),
    ("pad", ([2],), {"fill": None}),
    ("pad", (1,), {"fill": EVERY}),
    ("pad", ([1, 2, 3, 4],), {"padding_mode": "edge"}),
    ("get_size", (), {}),
    ("get_image_size", (), {}),
    ("get_dimensions", (), {}),
]
REFLECTIONS: list[Call] = [
    ("pad", (2,), {"padding_mode": "reflect"}),
    ("pad", ([1, 2, 3, 2],), {"padding_mode": "symmetric"}),
]
SIZED: list[Call] = [
    ("resize", ([8, 11],), {}),
    ("resize", ([28, 41],), {}),
    ("resize", (8,), {}),
    ("resize", ([20],), {"max_size": 25}),
    ("resize", (None,), {"max_size": 21}),
    ("resize", ([18, 11],), {"interpolation": "BICUBIC"}),
    ("resize", ([8, 11],), {"interpolation": "NEAREST"}),
    ("resized_crop", (2, 3, 4, 5, [6, 7]), {}),
    ("resized_crop", (-2, 3, 14, 5, [6]), {}),
]
FEW_PIXELS: list[Call] = [
    ("resize", ([8, 11],), {"antialias": False}),
    ("resize", ([8, 11],), {"antialias": None}),
]
COLORS: list[Call] = [
    (name, (channels,), {}) for name in ("rgb_to_grayscale", "to_grayscale") for channels in (1, 3)
]


def kinds(sizes: Any = SIZES) -> Iterator[Any]:
    """Images of all modes, and tensors of bytes."""
    for size in sizes:
        for mode in CHANNELS:
            yield picture(size[0], size[1], mode)
        for channels in (1, 3, 4):
            for lead in ((), (2,), (2, 1)):
                yield planes(torch, lead, channels, size, np.uint8)


def floats() -> Iterator[Any]:
    for size in SIZES:
        for channels, lead in ((1, ()), (3, (2,)), (4, (2, 1))):
            yield planes(torch, lead, channels, size, np.float32)


def pair(image: Any, name: str, args: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, Any]:
    """What both make of an image."""
    options, named = dict(given), dict(given)
    if given.get("fill") == EVERY:
        channels = theirs.get_dimensions(image)[0]
        options["fill"] = named["fill"] = [10.0 + channel for channel in range(channels)]
    if "interpolation" in given:
        options["interpolation"] = MODES[given["interpolation"]]
        named["interpolation"] = theirs.InterpolationMode[given["interpolation"]]
    return getattr(functional, name)(image, *args, **options), getattr(theirs, name)(
        image, *args, **named
    )


@pytest.mark.full
@pytest.mark.parametrize(("name", "args", "given"), [*MOVES, *SIZED, *FEW_PIXELS])
def test_same_bits(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in kinds():
        assert_same(*pair(image, name, args, given))


@pytest.mark.parametrize(("name", "args", "given"), [MOVES[2], MOVES[7], MOVES[11], SIZED[0]])
def test_same_bits_of_some(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in (picture(13, 17), planes(torch, (2,), 3, (13, 17), np.uint8)):
        assert_same(*pair(image, name, args, given))


@pytest.mark.full
@pytest.mark.parametrize(("name", "args", "given"), REFLECTIONS)
def test_same_reflections(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in kinds(((13, 17), (30, 9))):
        assert_same(*pair(image, name, args, given))


@pytest.mark.full
@pytest.mark.parametrize(("name", "args", "given"), COLORS)
def test_same_colors(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in [*kinds(), *floats()]:
        if theirs.get_dimensions(image)[0] in (1, 3) or not hasattr(image, "dtype"):
            assert_same(*pair(image, name, args, given))


@pytest.mark.full
@pytest.mark.parametrize(("name", "args", "given"), [*MOVES, *REFLECTIONS])
def test_same_floats(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in floats():
        if name != "pad" or min(image.shape[-2:]) > 3 or given.get("padding_mode") == "edge":
            assert_same(*pair(image, name, args, given))


@pytest.mark.full
@pytest.mark.parametrize(("name", "args", "given"), SIZED)
def test_floats_of_other_sizes_are_close(
    name: str, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    for image in floats():
        mine, other = pair(image, name, args, given)
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=0, atol=2e-6)


@pytest.mark.full
@pytest.mark.parametrize("args", [(3,), ([5, 3],), ([3, 5], [1.0, 0.7]), (3, 0.8)])
def test_blurs_are_close(args: tuple[Any, ...]) -> None:
    for image in [*kinds(((13, 17), (30, 9))), *floats()]:
        if min(theirs.get_size(image)) < 3:
            continue
        mine, other = pair(image, "gaussian_blur", args, {})
        one, two = np.asarray(mine), np.asarray(other)
        assert type(mine) is type(other)
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        bound = 1e-6 if one.dtype == np.float32 else 1
        assert np.abs(one.astype(np.float64) - two).max() <= bound


def test_normalize() -> None:
    for image, mean, std in (
        (planes(torch, (), 3, (5, 7), np.float32), [0.5, 0.4, 0.3], [0.2, 0.3, 0.1]),
        (planes(torch, (2,), 3, (5, 7), np.float32), [0.5], [0.2]),
        (planes(torch, (2, 1), 1, (5, 7), np.float32), [0.5, 0.1, 0.2], [0.2, 0.3, 0.4]),
    ):
        assert_same(functional.normalize(image, mean, std), theirs.normalize(image, mean, std))
        arrays = torch.tensor(mean), np.array(std)
        assert_same(functional.normalize(image, *arrays), theirs.normalize(image, mean, std))
    # DALI takes bytes, too, which torchvision refuses.
    image = planes(torch, (), 3, (5, 7), np.uint8)
    mine = functional.normalize(image, [99.0, 2.0, 3.0], [9.0, 8.0, 7.0])
    assert_same(mine, theirs.normalize(image.float(), [99.0, 2.0, 3.0], [9.0, 8.0, 7.0]))
    with pytest.raises(NotImplementedError, match="inplace"):
        functional.normalize(image, [1.0], [1.0], inplace=True)
    with pytest.raises(TypeError, match="a tensor"):
        functional.normalize(picture(4, 4), [1.0], [1.0])


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "I", "F", "RGB", "RGBA", "CMYK", "HSV"])
def test_tensors_of_all_modes(mode: str) -> None:
    image = picture(5, 7).convert(mode)
    assert_same(functional.pil_to_tensor(image), theirs.pil_to_tensor(image))
    assert_same(functional.to_tensor(image), theirs.to_tensor(image))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1), (4, 5, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, np.float64])
def test_tensors_of_arrays(shape: tuple[int, ...], dtype: Any) -> None:
    array = pixels(4, 5, 3)[..., : shape[-1] if len(shape) == 3 else 1].reshape(shape)
    array = np.ascontiguousarray(array.astype(dtype))
    assert_same(functional.to_tensor(array), theirs.to_tensor(array))


MADE: list[tuple[int, Any, tuple[str | None, ...]]] = [
    (1, np.uint8, (None, "L")),
    (2, np.uint8, (None, "LA")),
    (3, np.uint8, (None, "RGB", "HSV", "YCbCr")),
    (4, np.uint8, (None, "RGBA", "CMYK")),
    (1, np.int16, (None,)),
    (1, np.int32, (None,)),
    (1, np.float32, (None, "F")),
    (3, np.float32, (None,)),
    (3, np.float64, (None,)),
    (4, np.float32, ("RGBA",)),
]


@pytest.mark.parametrize(
    ("channels", "dtype", "mode"), [(*one[:2], mode) for one in MADE for mode in one[2]]
)
def test_images_of_tensors(channels: int, dtype: Any, mode: str | None) -> None:
    array = pixels(4, 5, channels, np.float32 if dtype == np.float64 else dtype)
    tensor = torch.from_numpy(np.ascontiguousarray(array.astype(dtype).transpose(2, 0, 1)))
    assert_same(functional.to_pil_image(tensor, mode), theirs.to_pil_image(tensor, mode))
    turned = functional.to_pil_image(tensor.permute(1, 2, 0), mode, "HWC")
    assert_same(turned, theirs.to_pil_image(tensor, mode))


def test_what_is_no_image_of_a_tensor() -> None:
    for tensor, mode in (
        (torch.zeros(5, 4, 4), None),
        (torch.zeros(3, 4, 4, dtype=torch.int16), None),
        (torch.zeros(3, 4, 4), "L"),
        (torch.zeros(2, 3, 4, 4), None),
        (torch.zeros(4), None),
    ):
        with pytest.raises((ValueError, TypeError)) as raised:
            theirs.to_pil_image(tensor, mode)
        with pytest.raises(type(raised.value)):
            functional.to_pil_image(tensor, mode)
    with pytest.raises(TypeError):
        functional.to_pil_image(picture(4, 4))


def test_places_of_images_are_rounded() -> None:
    image = picture(20, 30)
    box = (1.5, 2.4, 9.6, 7.2)
    assert_same(functional.crop(image, *box), theirs.crop(image, *box))
    with pytest.raises(OperatorTypeError, match="integers"):
        functional.crop(planes(torch, (), 3, (9, 9), np.uint8), 0.5, 0, 2, 2)


def test_forms() -> None:
    """Lists of several sizes, no images, strides, gradients, and the classes of torchvision."""
    images = [picture(*size) for size in SIZES]
    for mine, image in zip(functional.resize(images, [5, 6]), images, strict=True):
        assert_same(mine, theirs.resize(image, [5, 6]))
    tensors = [planes(torch, (), 3, size, np.uint8) for size in SIZES]
    for mine, tensor in zip(functional.pad(tuple(tensors), 2), tensors, strict=True):
        assert_same(mine, theirs.pad(tensor, 2))
    none = torch.zeros(0, 3, 8, 8)
    assert functional.resize(none, [4, 5]).shape == (0, 3, 4, 5)
    turned = planes(torch, (2,), 3, (9, 13), np.uint8).transpose(-1, -2)
    assert_same(functional.center_crop(turned, 7), theirs.center_crop(turned, 7).contiguous())
    last = planes(torch, (2,), 3, (9, 13), np.uint8).contiguous(memory_format=torch.channels_last)
    assert_same(functional.resize(last, [4, 5]), theirs.resize(last, [4, 5]))
    learned = torch.rand(3, 4, 4, requires_grad=True)
    assert_same(functional.vertical_flip(learned), theirs.vertical_flip(learned.detach()))
    kinds_of = pytest.importorskip("torchvision.tv_tensors")
    wrapped = kinds_of.Image(planes(torch, (), 3, (6, 7), np.uint8))
    assert_same(functional.resize(wrapped, [4, 5]), theirs.resize(wrapped, [4, 5]))
    with pytest.raises(OperatorTypeError, match="an image of Pillow"):
        functional.resize(kinds_of.Mask(torch.zeros(1, 4, 4)), [2, 2])


def test_what_is_no_image() -> None:
    for wrong in ("cat.jpg", 3, np.zeros((3, 4, 4), np.uint8), [], [picture(4, 4), 1]):
        with pytest.raises(OperatorTypeError, match="an image of Pillow, a tensor"):
            functional.horizontal_flip(wrong)
    with pytest.raises(OperatorTypeError, match=r"\(\.\.\., C, H, W\)"):
        functional.horizontal_flip(torch.zeros(4, 4))
    with pytest.raises(OperatorTypeError, match=r"expected \(C, H, W\)"):
        functional.horizontal_flip([torch.zeros(1, 3, 4, 4)])
    with pytest.raises(OperatorValueError, match="mode CMYK"):
        functional.horizontal_flip(picture(4, 4).convert("CMYK"))
    with pytest.raises(TypeError):
        functional.get_size([1, 2])
    with pytest.raises(TypeError):
        functional.pil_to_tensor(torch.zeros(3, 4, 4))
    with pytest.raises(TypeError):
        functional.to_tensor(torch.zeros(3, 4, 4))
    with pytest.raises(ValueError):
        functional.to_tensor(np.zeros(4))


def test_filters_of_tensors() -> None:
    tensor = planes(torch, (), 3, (9, 9), np.uint8)
    with pytest.raises(OperatorValueError, match="BICUBIC for tensors"):
        functional.resize(tensor, [4, 4], MODES.LANCZOS)
    image = picture(9, 9)
    expected = theirs.resize(image, [4, 4], theirs.InterpolationMode.LANCZOS)
    for mode in (MODES.LANCZOS, theirs.InterpolationMode.LANCZOS, "lanczos", 1):
        assert_same(functional.resize(image, [4, 4], mode), expected)
