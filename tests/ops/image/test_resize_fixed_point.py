"""`resize(compat=...)` of bytes in whole numbers: the bits of Pillow and torch, and in groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import gradiva
from gradiva import fn
from gradiva.ops.image.resize import fixed_point
from gradiva.ops.image.resize.fixed_point import rows_first
from gradiva.ops.image.resize.torch_rules import resize_torch
from tests.tiers import examples

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
BILINEAR, BICUBIC = Image.Resampling.BILINEAR, Image.Resampling.BICUBIC
FILTERS = {
    1: BILINEAR,
    2: BICUBIC,
    3: Image.Resampling.LANCZOS,
    4: BILINEAR,
    6: Image.Resampling.BOX,
    7: Image.Resampling.HAMMING,
}


def noise(seed: int, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def by_pillow(source: Array, size: tuple[int, int], filter: int, box: Any = None) -> Array:
    image = Image.fromarray(source if source.shape[2] == 3 else source[..., 0])
    made = np.asarray(image.resize(size[::-1], FILTERS[filter], box))
    return made.reshape(*size, source.shape[2])


side = st.one_of(st.integers(1, 40), st.integers(1, 300))


@settings(max_examples=examples(600, quick=60), deadline=None)
@given(st.tuples(side, side), st.tuples(side, side), st.sampled_from((1, 3)), st.data())
def test_sizes(before: tuple[int, int], after: tuple[int, int], channels: int, data: Any) -> None:
    """Any size to any other, both orders of the passes, regions."""
    source, filter = (
        noise(sum(before), (*before, channels)),
        data.draw(st.sampled_from((1, 2, 3, 6, 7))),
    )
    batch = gradiva.batch([source], layout="HWC")
    made = gradiva.resize(batch, size=after, compat="pil", interp_type=filter)
    np.testing.assert_array_equal(made.at(0), by_pillow(source, after, filter))
    low = [data.draw(st.floats(0, extent * 0.5, width=32)) for extent in before]
    high = [data.draw(st.floats(extent * 0.75, extent, width=32)) for extent in before]
    made = gradiva.resize(
        batch, size=after, compat="pil", interp_type=filter, roi_start=low, roi_end=high
    )
    box = (low[1], low[0], high[1], high[0])
    np.testing.assert_array_equal(made.at(0), by_pillow(source, after, filter, box))


@pytest.mark.parametrize("shape", [(2000, 9, 3), (9, 2000, 3), (700, 900, 3), (900, 700, 1)])
@pytest.mark.parametrize("size", [(30, 40), (1, 1), (333, 2), (5, 1000)])
def test_large(shape: tuple[int, int, int], size: tuple[int, int]) -> None:
    """Many weights for a pixel, and rows that are dropped on the way."""
    source = noise(1, shape)
    for filter in FILTERS:
        made = gradiva.resize(source, size=size, compat="pil", interp_type=filter)
        np.testing.assert_array_equal(np.asarray(made), by_pillow(source, size, filter))


def test_order_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow 13 blends rows first where the height loses much more, 12.2 in very tall images."""
    before = np.array([[100, 100]] * 5 + [[1001, 10], [1000, 10], [1001, 10]])
    after = np.array([[60, 80], [60, 79], [90, 110], [101, 150], [10, 200]] + [[900, 9]] * 3)
    after[-1] = 1001, 5
    monkeypatch.setattr(fixed_point, "_pillow_version", lambda: (13, 0))
    assert np.flatnonzero(rows_first(before, after)).tolist() == [2, 4, 5, 6]
    monkeypatch.setattr(fixed_point, "_pillow_version", lambda: (12, 3))
    assert np.flatnonzero(rows_first(before, after)).tolist() == [5]
    monkeypatch.setattr(fixed_point, "_pillow_version", lambda: (12, 1))
    assert not rows_first(before, after).any()
    source = noise(2, (80, 60, 3))
    made = gradiva.resize(source, size=(20, 70), compat="pil", interp_type=2)
    image = Image.fromarray(source).resize((70, 80), BICUBIC).resize((70, 20), BICUBIC)
    np.testing.assert_array_equal(np.asarray(made), np.asarray(image))


@pytest.mark.parametrize("layout", ["CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW"])
def test_layouts(layout: str) -> None:
    sides = {"C": 3, "F": 2, "H": 30, "W": 21}
    source = noise(3, tuple(sides[letter] for letter in layout))
    made = gradiva.resize(
        gradiva.tensor(source, layout=layout), size=(17, 40), compat="pil", interp_type=2
    )
    planes = np.moveaxis(source, (layout.index("H"), layout.index("W")), (-2, -1))
    wanted = [by_pillow(p[..., None], (17, 40), 2) for p in planes.reshape(-1, 30, 21)]
    found = np.moveaxis(np.asarray(made), (layout.index("H"), layout.index("W")), (-2, -1))
    np.testing.assert_array_equal(found.reshape(-1, 17, 40), np.stack(wanted)[..., 0])


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(10, 60), (40, 12)])
def test_in_groups(compat: str, channels: int, size: tuple[int, int]) -> None:
    """After windows and mirrors, and before them; images with alpha are resized step by step."""
    samples = [noise(i, (30 + i, 40, channels)) for i in range(3)]

    def work(f: Any, x: Any) -> Any:
        x = f.flip(f.crop(x, crop=(24, 31)), horizontal=1, vertical=1)
        x = f.resize(x, size=size, compat=compat, interp_type=2)
        x = f.flip(f.crop(x, crop=(8, 11)), horizontal=1, vertical=1)
        return f.brightness(x, brightness=0.7)

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return work(fn, fn.external_source(lambda: samples, layout="HWC"))

    pipe, wanted = pipeline(), work(gradiva, gradiva.batch(samples, layout="HWC"))
    (made,) = pipe.run()
    for i in range(3):
        np.testing.assert_array_equal(made.at(i), wanted.at(i))
    (group,) = pipe.explain()
    assert (group.fused == group.batches) == (channels != 4)


@settings(max_examples=examples(300, quick=40), deadline=None)
@given(st.tuples(side, side), st.tuples(side, side), st.sampled_from((1, 2, 3)))
def test_torchvision(before: tuple[int, int], after: tuple[int, int], filter: int) -> None:
    """The kernel of groups has the bits of the one that resizes any dtype and region."""
    source = noise(sum(after), (1, *before, 3))
    made = gradiva.resize(
        gradiva.tensor(source[0], layout="HWC"),
        size=after,
        compat="torchvision",
        interp_type=filter,
    )
    wanted = np.empty((1, *after, 3), np.uint8)
    resize_torch(source, (0, 0, *before), wanted, filter, True)
    np.testing.assert_array_equal(np.asarray(made), wanted[0])


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
def test_random_windows(compat: str) -> None:
    """`random_resized_crop` draws the same windows in a group, and cuts them out before."""
    samples = [noise(i, (40 + i, 50, 3)) for i in range(4)]

    def work(f: Any, x: Any) -> Any:
        x = f.random_resized_crop(x, size=(13, 17), compat=compat, interp_type=2, seed=5)
        return f.brightness(x, brightness=0.9)

    @gradiva.pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return work(fn, fn.external_source(lambda: samples, layout="HWC"))

    pipe, wanted = pipeline(), work(gradiva, gradiva.batch(samples, layout="HWC"))
    (made,) = pipe.run()
    for i in range(4):
        np.testing.assert_array_equal(made.at(i), wanted.at(i))
    (group,) = pipe.explain()
    assert group.fused == group.batches > 0


def test_regions_of_torchvision() -> None:
    """They are cut out before: filters see nothing around them."""
    source = noise(6, (60, 50, 3))
    window = np.ascontiguousarray(source[7:44, 11:31])
    given: dict[str, Any] = {"size": (13, 57), "compat": "torchvision", "interp_type": 2}
    made = gradiva.resize(source, roi_start=(7, 11), roi_end=(44, 31), **given)
    wanted = gradiva.resize(window, **given)
    np.testing.assert_array_equal(np.asarray(made), np.asarray(wanted))


def test_upright_window_of_a_mirrored_image() -> None:
    """Rows that go from the bottom to the top, to the last byte of the memory."""
    source = noise(5, (9, 5, 3))

    def work(f: Any, x: Any) -> Any:
        x = f.resize(f.flip(x, horizontal=0, vertical=1), size=(3, 8), compat="pil", interp_type=2)
        return f.brightness(x, brightness=1.0)

    compiled = gradiva.capture.compile(lambda x: work(gradiva, x))
    batch = gradiva.batch([source], layout="HWC")
    wanted = by_pillow(np.ascontiguousarray(source[::-1]), (3, 8), 2)
    np.testing.assert_array_equal(compiled(batch).at(0), wanted)
