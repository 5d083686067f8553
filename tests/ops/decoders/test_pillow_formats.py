"""GIF and AVIF: the pixels of Pillow, in every color, by every decoder."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import types
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.formats import pillow_formats
from tests.oracle import flavors

FORMATS = ["GIF", *(["AVIF"] if pillow_formats.has_avif() else [])]
PICTURE = Image.fromarray(flavors.ASTRONAUT)


def written(image: Image.Image, name: str, **options: Any) -> Array:
    file = io.BytesIO()
    image.save(file, name, **options)
    return np.frombuffer(file.getvalue(), np.uint8)


def by_pillow(data: Array, mode: str) -> Array:
    pixels = np.asarray(Image.open(io.BytesIO(data.tobytes())).convert(mode))
    return pixels.reshape(*pixels.shape[:2], -1)


@pytest.mark.parametrize("name", FORMATS)
def test_colors(name: str) -> None:
    data = written(PICTURE, name)
    rgb = by_pillow(data, "RGB")
    assert np.array_equal(gradiva.decoders.image(data), rgb)
    for kind, wanted in (("BGR", rgb[..., ::-1]), ("ANY_DATA", rgb)):
        found = gradiva.decoders.image(data, output_type=types.ImageType[kind])
        assert np.array_equal(found, wanted), kind
    gray = np.asarray(gradiva.decoders.image(data, output_type=types.GRAY))
    assert np.abs(gray.astype(int) - by_pillow(data, "L")).max() <= 1
    assert np.asarray(gradiva.peek_image_shape(data)).tolist() == [*rgb.shape]
    window = gradiva.decoders.image_crop(data, crop=(20, 30), crop_pos_x=0.0, crop_pos_y=0.0)
    assert np.array_equal(window, rgb[:20, :30])


@pytest.mark.parametrize("disposal", [0, 1, 2, 3])
def test_the_first_of_several_images(disposal: int) -> None:
    """Its disposal is about those that follow."""
    others = [PICTURE.transpose(Image.Transpose.ROTATE_180), PICTURE.convert("L")]
    options: dict[str, Any] = {"comment": b"of several", "loop": 0, "duration": 10}
    data = written(
        PICTURE, "GIF", save_all=True, append_images=others, disposal=disposal, **options
    )
    before = data.copy()
    assert np.array_equal(gradiva.decoders.image(data), by_pillow(data, "RGB"))
    assert np.array_equal(data, before)


def test_an_image_that_leaves_its_screen() -> None:
    """As Pillow, the screen grows, but only so far."""
    data = written(PICTURE, "GIF").copy()
    data[6:10] = 5, 0, 3, 0
    assert np.array_equal(gradiva.decoders.image(data), by_pillow(data, "RGB"))
    place = data.tobytes().index(b",", 13 + 3 * 256)
    data[place + 5 : place + 9] = 255
    with pytest.raises(gradiva.OperatorRuntimeError, match="leaves its screen"):
        gradiva.decoders.image(data)


def test_transparent_and_gray() -> None:
    shades = Image.fromarray((np.arange(60) % 4).astype(np.uint8).reshape(6, 10), "P")
    shades.putpalette([9, 9, 9, 200, 0, 0, 0, 200, 0, 0, 0, 200])
    data = written(shades, "GIF", transparency=2)
    found = gradiva.decoders.image(data, output_type=types.ANY_DATA)
    assert np.array_equal(found, by_pillow(data, "RGBA"))
    assert (np.asarray(found)[..., 3] == 0).sum() == 15
    assert np.array_equal(gradiva.decoders.image(data), by_pillow(data, "RGB"))
    data = written(PICTURE.convert("L"), "GIF")
    found = gradiva.decoders.image(data, output_type=types.ANY_DATA)
    assert np.array_equal(np.asarray(found)[..., :1], by_pillow(data, "L"))


def test_the_first_of_several() -> None:
    moving = written(PICTURE, "GIF", save_all=True, append_images=[PICTURE.rotate(90)] * 3)
    assert np.array_equal(gradiva.decoders.image(moving), by_pillow(moving, "RGB"))


@pytest.mark.skipif("AVIF" not in FORMATS, reason="pillow has no AVIF")
def test_orientation() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = written(PICTURE, "AVIF", exif=exif)
    upright = np.rot90(by_pillow(data, "RGB"), -1)
    assert np.array_equal(gradiva.decoders.image(data), upright)


def test_without_avif(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pillow_formats, "features", SimpleNamespace(modules={}))
    data = np.frombuffer(b"\0\0\0\x20ftypavif" + bytes(40), np.uint8)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"pillow 11\.3"):
        gradiva.decoders.image(data)
