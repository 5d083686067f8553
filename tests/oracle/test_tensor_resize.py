"""tensor_resize against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import pictures, ramp, scaled
from .reference import DTYPES, check

NEAR: dict[str, Any] = {"exact": False, "float_range": 1e-4}

ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"sizes": (13, 17), "axes": (0, 1)},
    {"sizes": (17, 13), "axis_names": "WH"},
    {"sizes": 13, "axes": (0, 1)},
    {"sizes": (13, 17, 3)},
    {"sizes": (13, 17, 5)},
    {"sizes": 5, "axes": 2},
    {"sizes": 17, "axes": 1},
    {"sizes": (17, 0), "axes": (1, 0), "mode": "stretch"},
    {"sizes": (13, 17), "axes": (0, 1), "max_size": 15},
    {"sizes": (-13, 17), "axes": (0, 1)},
    {"sizes": (13.5, 17.4), "axes": (0, 1)},
    {"sizes": (13.7, 17.4), "axes": (0, 1), "size_rounding": "truncate"},
    {"sizes": (0, 0), "axes": (0, 1)},
    {"sizes": (13, 5), "axes": (0, 2)},
    {"sizes": (13, 17), "axes": (0, 1), "roi_start": (2, 3), "roi_end": (15, 20)},
    {"sizes": (13, 17), "axes": (0, 1), "roi_start": 0.9, "roi_end": 0.1, "roi_relative": True},
    {"scales": (0.52, 0.77), "axes": (0, 1)},
    {"scales": 0.525, "axes": (0, 1), "size_rounding": "ceil", "alignment": 0},
    {"scales": 0.525, "axes": (0, 1), "size_rounding": "truncate", "alignment": (1, 0.25)},
    {"scales": 0.525, "axes": (0, 1), "subpixel_scale": False},
    {"scales": (-0.5, 1), "axes": (0, 1)},
    {"scales": 0.5, "axes": (0, 1), "roi_start": (2, 3), "roi_end": (15, 20)},
    {"scales": 0.5, "sizes": 3},
    {"sizes": 3, "axes": 3},
    {"sizes": 3, "axis_names": "D"},
    {"sizes": 3, "axes": 0, "axis_names": "H"},
    {"sizes": (3, 3), "axes": (0, 0)},
    {"sizes": 3, "size_rounding": "floor"},
    {},
    {"sizes": [[13, 17], [30, 5]], "axes": (0, 1)},
    {"scales": [[0.3, 1.7], [2.1, 0.4]], "axes": (0, 1)},
)


@pytest.mark.parametrize("interp", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_arguments(arguments: dict[str, Any], interp: int) -> None:
    samples = [ramp(20, 31, 3), ramp(25, 18, 3)]
    if interp == 0 and "scales" in arguments and {"alignment", "roi_start"} & set(arguments):
        return  # the region ends beyond the sample: there nearest neighbor reads other memory
    check(
        "tensor_resize",
        samples,
        layout="HWC",
        both_may_refuse=True,
        interp_type=InterpType(interp),
        **NEAR,
        **arguments,
    )


@pytest.mark.parametrize("name", ["uint8", "int16", "uint16", "float32"])
def test_dtypes(name: str) -> None:
    samples = [scaled(ramp(20, 31, 3), DTYPES[name].numpy)]
    for dtype in (name, "float32"):
        more: dict[str, Any] = {"dtype": DTYPES[dtype]}
        check("tensor_resize", samples, layout="HWC", sizes=(9, 40), axes=(0, 1), **NEAR, **more)


@pytest.mark.parametrize("interp", [0, 1, 2])
def test_ranks(interp: int) -> None:
    filters: dict[str, Any] = {"interp_type": InterpType(interp), **NEAR}
    sound, deep = ramp(9, dtype=np.uint8), ramp(2, 5, 6, 7, 3)
    for sizes in (5, 14):
        check("tensor_resize", [sound], sizes=sizes, **filters)
    check("tensor_resize", [deep], sizes=(3, 4), axes=(1, 2), **filters)
    check("tensor_resize", [deep], sizes=(3, 4, 9), axes=(1, 2, 3), **filters)
    check("tensor_resize", [deep], sizes=(3, 9), axes=(1, 3), **filters)


def test_aspect_ratio_of_the_chosen_axes() -> None:
    """There, axes that are not chosen take part with a scale of 1: "not_larger" would shrink the
    channels. Here only the chosen ones do, as in `resize`."""
    images = batch([ramp(20, 31, 3)], layout="HWC")
    for mode in ("not_larger", "not_smaller", "default"):
        for size in ((10, 10), (10, 0)):
            ours = gradiva.tensor_resize(images, sizes=size, axes=(0, 1), mode=mode)
            plain = gradiva.resize(images, size=size, mode=mode)
            np.testing.assert_array_equal(ours.at(0), plain.at(0))


def test_scales_that_round_to_the_same_size() -> None:
    """There an axis of a plane is left alone if its size stays, though its scale was to be kept.
    DALI does keep it in one dimension: each column of ours is held against that."""
    plane = ramp(96, 5).astype(np.float32)
    arguments: dict[str, Any] = {"scales": 0.99609375, "axes": 0, "alignment": 0.0}
    ours = gradiva.tensor_resize(batch([plane]), **arguments).at(0)
    for column in range(5):
        sound = [np.ascontiguousarray(plane[:, column])]
        check("tensor_resize", sound, **NEAR, **arguments)
        alone = gradiva.tensor_resize(batch(sound), **arguments).at(0)
        np.testing.assert_array_equal(ours[:, column], alone)


SCALES = st.floats(0.125, 0.875, width=16) | st.floats(1.125, 3, width=16)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    scales=st.tuples(SCALES, SCALES),
    alignment=st.floats(0, 1, width=16),
    rounding=st.sampled_from(["round", "truncate", "ceil"]),
    interp=st.sampled_from([1, 2, 3, 4]),
)
def test_pictures(
    scales: tuple[float, float], alignment: float, rounding: str, interp: int
) -> None:
    check(
        "tensor_resize",
        pictures(),
        scales=scales,
        axes=(0, 1),
        alignment=alignment,
        size_rounding=rounding,
        interp_type=InterpType(interp),
        **NEAR,
    )
