"""resize against DALI: sizes, values, refusals. Nearest neighbor is exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import photograph, pictures, scaled
from .reference import DTYPES, REFUSALS, check, reference

NAMES = ("uint8", "uint16", "int16", "float32")
SIZES: tuple[dict[str, Any], ...] = (
    {"size": [112.0, 112.0]},
    {"size": [301.0, 77.0]},
    {"size": [37.0, 411.0]},
    {"resize_shorter": 93.0},
    {"resize_longer": 333.0, "max_size": 300.0},
    {"resize_x": 211.5},
    {"size": [-90.0, 131.0]},
    {"size": [99.0, 65.0], "roi_start": [20.3, 100.7], "roi_end": [88.1, 7.9]},
    {
        "resize_x": 140.0, "mode": "stretch", "roi_start": [0.1, 0.2], "roi_end": [0.8, 0.9],
        "roi_relative": True,
    },
    {"size": [64.0, 80.0], "roi_start": [-20.0, -11.0], "roi_end": [60.0, 190.0]},
    {"size": [120.3, 60.7], "mode": "not_smaller", "subpixel_scale": False},
)  # fmt: skip


BEYOND = SIZES[9]
TINY: tuple[dict[str, Any], ...] = (
    {"size": [1e-10, 30.0]},
    {"resize_x": 0.02},
    {"resize_longer": 0.02, "roi_start": [0.1, 0.2], "roi_end": [0.8, 0.9], "roi_relative": True},
)
GAUSSIAN = InterpType.INTERP_GAUSSIAN
FILTERS = [one for one in InterpType if one <= GAUSSIAN]
"""The last ones are other libraries'."""


def photographs(name: str) -> Batch:
    dtype = DTYPES[name].numpy
    arrays = [photograph(one)[::3, ::3] for one in ("astronaut", "coffee", "chelsea", "rocket")]
    return batch([scaled(np.ascontiguousarray(array), dtype) for array in arrays], layout="HWC")


def compare(images: Batch, **arguments: Any) -> None:
    nearest = arguments.get("interp_type") is InterpType.INTERP_NN
    check("resize", images, exact=nearest, float_range=1e-4, **arguments)


def failures(images: Batch, sizes: Iterable[dict[str, Any]], **arguments: Any) -> str:
    """What is wrong, for all sizes."""
    wrong = []
    for size in sizes:
        try:
            compare(images, **arguments, **size)
        except AssertionError as error:
            wrong.append(f"{size}: {error}")
    return "\n".join(wrong)


@pytest.mark.parametrize("filter", [InterpType.INTERP_NN, InterpType.INTERP_LINEAR])
@pytest.mark.parametrize("antialias", [True, False])
def test_fractions_of_a_pixel(filter: InterpType, antialias: bool) -> None:
    assert not failures(photographs("float32"), TINY, interp_type=filter, antialias=antialias)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("filter", FILTERS)
def test_photographs(filter: InterpType, antialias: bool, name: str) -> None:
    sizes = [size for size in SIZES if filter is not InterpType.INTERP_NN or size is not BEYOND]
    assert not failures(photographs(name), sizes, interp_type=filter, antialias=antialias)


def regions(axes: int, largest: int, count: int) -> tuple[Batch, dict[str, Any]]:
    """Noise, and a region and a size of each sample. Whole and quarter pixels, and odd ratios of
    sizes, put many positions exactly between two pixels. A third of the axes is mirrored."""
    noise = np.random.default_rng(axes)
    rows: list[tuple[Any, ...]] = []
    for _ in range(count * axes):
        extent, shift, rest = noise.integers((1, 0, 0), (largest, 30, 10))
        wanted = noise.integers(1, largest)
        if noise.random() < 0.5:
            common = noise.integers(1, largest // 12 + 2)
            extent, wanted = common * noise.integers(1, 7, 2) * 2 - common
        low, high = shift, shift + extent
        if noise.random() < 0.3:
            low, high = low + 0.25, high + 0.5
        if noise.random() < 0.3:
            low, high = high, low
        rows.append((shift + extent + rest + 1, wanted, low, high))
    if axes == 3:  # volumes of one slice
        rows[:: 2 * axes] = [(1, 1, 0, 1)] * len(rows[:: 2 * axes])
    table = np.array(rows, np.float64).reshape(count, axes, 4)
    arrays = [noise.random((*shape, 1), np.float32) for shape in table[..., 0].astype(int)]
    named = {
        name: [tuple(map(float, row)) for row in table[..., column]]
        for column, name in enumerate(("size", "roi_start", "roi_end"), 1)
    }
    return batch(arrays, layout="HWC" if axes == 2 else "DHWC"), named


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("filter", [InterpType.INTERP_NN, GAUSSIAN])
@pytest.mark.parametrize(("axes", "largest", "count"), [(2, 90, 1500), (3, 25, 500)])
def test_ties_in_regions(
    axes: int, largest: int, count: int, filter: InterpType, antialias: bool
) -> None:
    images, named = regions(axes, largest, count)
    compare(images, interp_type=filter, antialias=antialias, **named)


def test_regions_beyond_the_image() -> None:
    """Nearest neighbor repeats the border, as other filters do. DALI reads other pixels
    there, or memory that is not the image's (results change from run to run): it is not asked."""
    row = np.arange(1, 7, dtype=np.uint8).reshape(1, 6, 1)
    for start, end in ((-3, 9), (9, -3), (0, 9), (-3, 6)):
        ours = gradiva.resize(
            batch([row], layout="HWC"),
            size=[1.0, float(abs(end - start))],
            roi_start=[0.0, float(start)],
            roi_end=[1.0, float(end)],
            interp_type=InterpType.INTERP_NN,
        )
        step = 1 if end > start else -1
        places = np.arange(start, end, step) - (step < 0)
        np.testing.assert_array_equal(ours.at(0).ravel(), np.clip(places, 0, 5) + 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("filter", FILTERS)
def test_odd_shapes(filter: InterpType, name: str) -> None:
    extents = ([7.0, 10.0], [3.0, 61.0], [1.0, 1.0], [101.0, 5.0], [310.0, 303.0])
    images = pictures(DTYPES[name].numpy)
    assert not failures(images, [{"size": size} for size in extents], interp_type=filter)


@pytest.mark.parametrize("filter", FILTERS[:-1])
@pytest.mark.parametrize("channels", [1, 2, 4, 5, 17])
def test_channels(filter: InterpType, channels: int) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (41, 57, channels), np.uint8)
    for size in ([23.0, 29.0], [90.0, 131.0], [19.0, 200.0]):
        compare(batch([noise], layout="HWC"), interp_type=filter, size=size)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize(
    "layout", ["HWC", "CHW", "FHWC", "FCHW", "CFHW", "DHWC", "CDHW", "FDHWC", "FCDHW", "CFDHW"]
)
def test_layouts(filter: InterpType, layout: str) -> None:
    extents = {"F": 2, "D": 9, "H": 17, "W": 23, "C": 3}
    noise = np.random.default_rng(2).integers(0, 256, tuple(extents[c] for c in layout), np.uint8)
    axes = 3 if "D" in layout else 2
    for size in ([5.0, 11.0, 13.0], [21.0, 29.0, 31.0], [-6.0, 33.0, -12.0]):
        compare(batch([noise], layout=layout), interp_type=filter, size=size[:axes])


@pytest.mark.parametrize("layout", ["HW", "FHW", "DHW"])
def test_layouts_that_are_ours_alone(layout: str) -> None:
    """Samples without channels: the same values as with one."""
    noise = np.random.default_rng(2).integers(0, 256, (4, 9, 7)[-len(layout) :], np.uint8)
    size = [5.0] * (3 if "D" in layout else 2)
    with pytest.raises(REFUSALS):
        reference("resize", [[noise]], layout=layout, size=size)
    ours = gradiva.resize(batch([noise], layout=layout), size=size)
    wider = gradiva.resize(batch([noise[..., None]], layout=layout + "C"), size=size)
    np.testing.assert_array_equal(ours.at(0), wider.at(0)[..., 0])


def test_filters_per_axis_and_per_sample() -> None:
    images = photographs("uint8")
    for low, high in itertools.product(FILTERS, FILTERS):
        compare(images, size=[40.0, 300.0], min_filter=low, mag_filter=high)
    compare(images, size=[40.0, 300.0], interp_type=[0, 3, 5, 2])
    compare(images, resize_x=[40, 300, 11, 77], resize_y=[50, 60, 70, 80])


def test_attributes() -> None:
    images = pictures()
    resize: Any = gradiva.resize  # its type says one output, whatever `save_attrs`
    _resized, sizes = resize(images, size=9, save_attrs=True)
    _, theirs = reference("resize", [images], outputs=2, size=[9.0, 9.0], save_attrs=True)
    for index, expected in enumerate(theirs):
        np.testing.assert_array_equal(sizes.at(index), expected)
        assert sizes.at(index).dtype == expected.dtype


def test_gaussian_edge_taps() -> None:
    """A Gaussian is cut where it still weighs 0.018; which taps there count is part of it."""
    image = np.eye(5, dtype=np.float32).reshape(5, 5, 1)
    compare(batch([image], layout="HWC"), size=[5.0, 3.0], interp_type=InterpType.INTERP_GAUSSIAN)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"size": [3.0, 3.0], "resize_x": 3.0},
        {"resize_x": 3.0, "resize_shorter": 3.0},
        {"resize_longer": 3.0, "resize_shorter": 3.0},
        {"resize_longer": 3.0, "mode": "default"},
        {"size": [3.0, 3.0], "mode": "bogus"},
        {"size": [3.0, 3.0], "roi_start": [0.0, 0.0]},
        {"size": [3.0, 3.0], "roi_end": [0.0, 0.0]},
        {"max_size": 4.0},
        {"size": [3.0, 3.0, 3.0]},
    ],
    ids=str,
)
def test_refusals(arguments: dict[str, Any]) -> None:
    image = batch([np.zeros((5, 8, 3), np.uint8)], layout="HWC")
    with pytest.raises(REFUSALS):
        reference("resize", [image], **arguments)
    with pytest.raises(gradiva.GradivaError):
        gradiva.resize(image, **arguments)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    size=st.tuples(st.integers(-90, 150), st.integers(-90, 150)),
    mode=st.sampled_from(["default", "stretch", "not_larger", "not_smaller"]),
    filter=st.sampled_from(FILTERS[:-1]),
    antialias=st.booleans(),
    subpixel=st.booleans(),
)
def test_sizes(
    size: tuple[int, int], mode: str, filter: InterpType, antialias: bool, subpixel: bool
) -> None:
    compare(
        pictures(),
        size=[float(one) for one in size],
        mode=mode,
        interp_type=filter,
        antialias=antialias,
        subpixel_scale=subpixel,
    )
