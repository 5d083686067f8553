"""peek_image_shape against DALI: exact for every flavor of file."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva import batch, types

from .pictures import FOLDER
from .reference import DTYPES, NAMES, REFUSALS, check, reference
from .test_decoders_image import FILES, encoded
from .test_decoders_image import NAMES as FLAVORS

OURS_ALONE = ("tif_bilevel", "webp_exif6_odd")


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("kind", ["RGB", "GRAY", "ANY_DATA"])
@pytest.mark.parametrize("name", [name for name in FLAVORS if name not in OURS_ALONE])
def test_shapes(name: str, kind: str, adjust: bool) -> None:
    check(
        "peek_image_shape",
        encoded(name),
        image_type=types.ImageType[kind],
        adjust_orientation=adjust,
    )


@pytest.mark.parametrize("name", OURS_ALONE)
def test_files_that_are_ours_alone(name: str) -> None:
    with pytest.raises(REFUSALS):
        reference("decoders.image", [encoded(name)])
    shape = gradiva.peek_image_shape(encoded(name)).at(0)
    assert tuple(shape) == gradiva.decoders.image(encoded(name)).at(0).shape


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    check("peek_image_shape", encoded("jpeg_420"), both_may_refuse=True, dtype=DTYPES[name])


def test_photographs_in_one_batch() -> None:
    files = batch([np.fromfile(path, np.uint8) for path in sorted(FOLDER.glob("*/*.jpg"))])
    check("peek_image_shape", files)
    shapes = gradiva.peek_image_shape(files)
    assert gradiva.decoders.image(files).shape == [tuple(row) for row in shapes.as_array().tolist()]


def test_pixels_are_not_needed() -> None:
    whole = FILES["jpeg_420"]()
    check("peek_image_shape", batch([np.frombuffer(whole[: len(whole) // 2], np.uint8)]))
    for data in (b"\xff\xd8\xff", b"no image at all, only text"):
        check("peek_image_shape", batch([np.frombuffer(data, np.uint8)]), both_may_refuse=True)
