"""Sizes of resized images: what is decided quickly is what the general rules say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types
from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.image.resize.shapes import resize_geometry
from tests.tiers import few

IMAGES = np.array([(375, 500), (1, 1), (7, 3000), (24, 24), ((1 << 24) + 1, 3)], np.int64)
WHOLE = [(224.0, 224.0), (1.0, 1.0), (24.0, 31.0), (2.0**24, 5.0)]
OTHERS = [(2.0**24 + 1, 7.0), (0.0, 9.0), (-8.0, 8.0), (7.5, 7.5), (0.25, 3.0)]


def found(size: tuple[float, float], **more: Any) -> list[Any]:
    sizes = np.tile(np.array(size), (len(IMAGES), 1))
    return [(array.dtype, array.tolist()) for array in resize_geometry(IMAGES, size=sizes, **more)]


@pytest.mark.parametrize("rounding", few(["round", "truncate", "ceil"], "round"))
@pytest.mark.parametrize("subpixel", few([True, False], True))
@pytest.mark.parametrize("mode", [None, "default", "stretch"])
@pytest.mark.parametrize("size", [*WHOLE, *OTHERS])
def test_whole_sizes(
    size: tuple[float, float], mode: str | None, subpixel: bool, rounding: str
) -> None:
    """A limit that nothing reaches changes nothing, and is not decided quickly."""
    given = {"mode": mode, "subpixel_scale": subpixel, "size_rounding": rounding}
    limit = np.full(IMAGES.shape, 2.0**30)
    assert found(size, **given) == found(size, **given, max_size=limit)


def test_images_of_nothing_stay_so() -> None:
    out, low, high = resize_geometry(np.array([(0, 5), (6, 7)]), size=np.full((2, 2), 9.0))
    assert (out.tolist(), low.tolist()) == ([[0, 9], [9, 9]], [[0.0, 0.0], [0.0, 0.0]])
    assert high[1].tolist() == [6.0, 7.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2.0**40])
def test_sizes_that_are_none(bad: float) -> None:
    with pytest.raises(OperatorValueError, match="finite"):
        found((bad, 8.0))


def test_arguments_that_exclude_each_other() -> None:
    with pytest.raises(OperatorValueError, match="exactly one"):
        found((8.0, 8.0), resize_shorter=np.full(len(IMAGES), 9.0))
    with pytest.raises(OperatorValueError, match="one of round"):
        found((8.0, 8.0), size_rounding="up")
    with pytest.raises(OperatorValueError, match="mode"):
        found((8.0, 8.0), mode="other")
    with pytest.raises(OperatorValueError, match="roi_end"):
        found((8.0, 8.0), roi_start=np.zeros(IMAGES.shape))


@pytest.mark.parametrize("size", [0.05, 1e-3, 1e-10, 1e-44])
def test_a_fraction_of_a_pixel_is_one_pixel_of_the_whole_image(size: float) -> None:
    """Smaller sizes than a tenth of a pixel would need weights that float32 cannot tell from 0."""
    tenth = found((0.1, 0.1))
    assert found((size, size)) == tenth
    assert tenth[0][1] == [[1, 1]] * len(IMAGES)
    one = np.full((3, 40, 1), 200, np.uint8)
    for interpolation in (types.INTERP_LINEAR, types.INTERP_CUBIC, types.INTERP_NN):
        pixel = gradiva.resize(
            gradiva.as_tensor(one, layout="HWC"), size=(size, size), interp_type=interpolation
        )
        assert np.asarray(pixel).tolist() == [[[200]]]
