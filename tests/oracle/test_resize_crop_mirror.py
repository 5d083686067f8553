"""resize_crop_mirror, and volumes in resize and crop, against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import Array, pictures, ramp, scaled
from .reference import DTYPES, check

NEAR: dict[str, Any] = {"exact": False, "float_range": 1e-4}

ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"size": (40, 50), "crop": (20, 22)},
    {"size": (13, 17), "crop": (7, 8), "crop_pos_x": 0.2, "crop_pos_y": 0.9, "mirror": 1},
    {"size": (13, 17), "crop": (7, 8), "rounding": "truncate", "mirror": 2},
    {"size": (13, 17), "crop": (17, 12), "mirror": 3},
    {"resize_shorter": 33, "crop_h": 20, "crop_w": 22, "mirror": 4},
    {"resize_longer": 30},
    {"resize_x": 30, "crop": (8, 8), "mode": "not_larger"},
    {"size": (40, 30), "mode": "not_smaller", "max_size": 50, "crop": (6, 6)},
    {"size": (-13, 17), "crop": (6, 6)},
    {"size": (13, 17), "crop": (5, 6), "roi_start": (2, 3), "roi_end": (15, 20)},
    {"size": (13, 17), "crop": (5, 6), "roi_start": 0.9, "roi_end": 0.1, "roi_relative": True},
    {"resize_shorter": 13, "subpixel_scale": False, "crop": (6, 6)},
    {"size": (13, 17), "crop": (6, 6), "antialias": False},
    {"size": (13, 17), "crop_w": 6},
    {"crop": (5, 6)},
    {"size": (13, 17), "crop": (6, 6), "crop_pos_x": 1.5},
    {"size": [[9, 9], [20, 30]], "crop": [[4, 4], [20, 6]], "mirror": [1, 2]},
)


def images(dtype: Any = np.uint8) -> list[Array]:
    smooth = np.add.outer(np.arange(31) * 3, np.arange(40) * 2)[..., None] + [0, 20, 60]
    return [scaled(smooth.astype(np.uint8), dtype), scaled(ramp(21, 18, 3), dtype)]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_arguments(arguments: dict[str, Any]) -> None:
    for interp in (InterpType.INTERP_LINEAR, InterpType.INTERP_CUBIC):
        filters: dict[str, Any] = {"interp_type": interp}
        check(
            "resize_crop_mirror",
            images(),
            layout="HWC",
            both_may_refuse=True,
            **NEAR,
            **filters,
            **arguments,
        )


@pytest.mark.parametrize("name", ["uint8", "int16", "uint16", "float32"])
def test_dtypes(name: str) -> None:
    given_samples = images(DTYPES[name].numpy)
    for dtype in (name, "float32"):
        more: dict[str, Any] = {"dtype": DTYPES[dtype]}
        check(
            "resize_crop_mirror",
            given_samples,
            layout="HWC",
            size=(23, 17),
            crop=(9, 11),
            mirror=1,
            **NEAR,
            **more,
        )


@pytest.mark.parametrize("layout", ["CHW", "FHWC", "FCHW"])
def test_layouts(layout: str) -> None:
    """Mirrored, DALI turns other axes in these layouts: ours is held against flip."""
    sample = images()[0]
    given_samples = {"CHW": sample.transpose(2, 0, 1), "FHWC": np.stack([sample, 255 - sample])}
    given_samples["FCHW"] = given_samples["FHWC"].transpose(0, 3, 1, 2)
    own = batch([np.ascontiguousarray(given_samples[layout])], layout=layout)
    check("resize_crop_mirror", own, size=(13, 17), crop=(7, 8), **NEAR)
    for mirror in range(4):
        ours = gradiva.resize_crop_mirror(own, size=(13, 17), crop=(7, 8), mirror=mirror)
        step = gradiva.crop(gradiva.resize(own, size=(13, 17)), crop=(7, 8))
        step = gradiva.flip(step, horizontal=mirror & 1, vertical=mirror & 2)
        np.testing.assert_array_equal(ours.at(0), step.at(0))


def test_other_channels_in_each_sample() -> None:
    """Samples with different numbers of channels, mirrored."""
    own = batch([ramp(9, 8, 3), ramp(7, 9, 1), ramp(6, 6, 4)], layout="HWC")
    check("resize_crop_mirror", own, size=(13, 17), crop=(7, 8), mirror=1, **NEAR)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    size=st.tuples(st.integers(1, 120), st.integers(1, 120)),
    crop=st.tuples(st.integers(1, 120), st.integers(1, 120)),
    position=st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)),
    mirror=st.integers(0, 3),
    interp=st.sampled_from([0, 1, 2, 3, 4]),
)
def test_pictures(
    size: tuple[int, int],
    crop: tuple[int, int],
    position: tuple[float, float],
    mirror: int,
    interp: int,
) -> None:
    window = tuple(min(c, s) for c, s in zip(crop, size, strict=True))
    check(
        "resize_crop_mirror",
        pictures(),
        size=size,
        crop=window,
        crop_pos_x=position[0],
        crop_pos_y=position[1],
        mirror=mirror,
        interp_type=InterpType(interp),
        **NEAR,
    )


VOLUMES: tuple[dict[str, Any], ...] = (
    {"size": (5, 7, 8)},
    {"size": 9},
    {"resize_z": 4},
    {"resize_x": 12, "resize_z": 4},
    {"resize_y": 12, "mode": "stretch"},
    {"size": (5, 0, 20), "mode": "not_larger"},
    {"size": (5, 9, 20), "mode": "not_smaller"},
    {"resize_shorter": 11, "max_size": (13, 30, 14)},
    {"resize_longer": 7},
    {"size": (-5, 7, 8), "roi_start": (1, 2, 3), "roi_end": (5, 1, 9)},
    {"size": (5, 7, 8), "roi_start": 0.1, "roi_end": (0.9, 0.5, 1.1), "roi_relative": True},
    {"size": (5, 7, 8), "interp_type": InterpType.INTERP_CUBIC},
    {"size": (5, 7, 8), "interp_type": InterpType.INTERP_LANCZOS3, "antialias": False},
    {"size": (5, 17, 8), "interp_type": InterpType.INTERP_NN},
    {"size": (5, 17, 8), "min_filter": InterpType.INTERP_GAUSSIAN},
    {"size": (5, 7)},
)


@pytest.mark.parametrize("layout", ["DHWC", "CDHW", "FDHWC"])
@pytest.mark.parametrize("arguments", VOLUMES, ids=str)
def test_volumes(arguments: dict[str, Any], layout: str) -> None:
    extents = {"F": 2, "C": 2}
    shapes = [{**extents, "D": 6, "H": 9, "W": 11}, {**extents, "D": 8, "H": 5, "W": 10}]
    given_samples = [ramp(*(shape[letter] for letter in layout)) for shape in shapes]
    check("resize", given_samples, layout=layout, both_may_refuse=True, **NEAR, **arguments)


@pytest.mark.parametrize("arguments", VOLUMES[:4], ids=str)
def test_windows_of_volumes(arguments: dict[str, Any]) -> None:
    given_samples = [ramp(6, 9, 11, 2), ramp(8, 5, 10, 2)]
    for mirror in range(8):
        check(
            "resize_crop_mirror",
            given_samples,
            layout="DHWC",
            crop=(3, 2, 4),
            crop_pos_z=0.3,
            mirror=mirror,
            **NEAR,
            **arguments,
        )
