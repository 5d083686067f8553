"""`pad(before=, after=, mode=)` beside numpy.pad and torchvision, in all modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorValueError, fn
from tests.tiers import examples

pytestmark = pytest.mark.core

MODES = ("constant", "edge", "reflect", "symmetric")
DTYPES = ("uint8", "bool", "int16", "float32", "float64")


def padded(sample: Any, before: list[int], after: list[int], mode: str) -> Any:
    """As `numpy.pad`, element by element of the index: NumPy 1.26 repeats some elements at wrong
    places, where more is added than the mirrored sample is long."""
    made = sample
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        count = sample.shape[axis]
        places = np.arange(-low, count + high)
        outside = (places < 0) | (places >= count)
        if mode == "symmetric":
            places = places % (2 * count)
            places = np.where(places < count, places, 2 * count - 1 - places)
        elif mode == "reflect":
            period = max(2 * count - 2, 1)
            places = places % period
            places = np.where(places < count, places, period - places)
        made = made.take(np.clip(places, 0, count - 1), axis=axis)
        if mode == "constant":
            index = [slice(None)] * made.ndim
            made[(*index[:axis], outside)] = 0
    return made


@settings(max_examples=examples(150), deadline=None)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    data=st.data(),
    mode=st.sampled_from(MODES),
    dtype=st.sampled_from(DTYPES),
)
def test_as_numpy(shape: list[int], data: st.DataObject, mode: str, dtype: str) -> None:
    amounts = st.lists(st.integers(0, 12), min_size=len(shape), max_size=len(shape))
    before, after = data.draw(amounts), data.draw(amounts)
    sample = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    expected = padded(sample, before, after, mode)
    batch = gradiva.batch([sample, sample[:1]])
    made = gradiva.pad(batch, before=before, after=after, mode=mode)
    np.testing.assert_array_equal(np.asarray(made.at(0)), expected)
    assert made.dtype is batch.dtype
    expected = padded(sample[:1], before, after, mode)
    np.testing.assert_array_equal(np.asarray(made.at(1)), expected)


@pytest.mark.parametrize("mode", MODES)
def test_as_torchvision(mode: str) -> None:
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    torch = pytest.importorskip("torch")
    for dtype in (np.uint8, np.float32):
        planes = np.random.default_rng(1).integers(0, 256, (3, 9, 12)).astype(dtype)
        expected = functional.pad(torch.from_numpy(planes), [1, 2, 3, 4], padding_mode=mode).numpy()
        batch = gradiva.batch([planes], layout="CHW")
        made = gradiva.pad(batch, axis_names="HW", before=(2, 1), after=(4, 3), mode=mode)
        np.testing.assert_array_equal(np.asarray(made.at(0)), expected)


@pytest.mark.parametrize("mode", MODES)
def test_same_bits_in_a_pipeline_and_for_each_sample(mode: str) -> None:
    images = [np.random.default_rng(k).integers(0, 256, (5 + k, 7, 3), np.uint8) for k in range(2)]
    widths = [np.array([1, 0]), np.array([0, 3])]

    @gradiva.pipeline_def(batch_size=2, num_threads=2, prefetch_queue_depth=1)
    def pipeline() -> Any:
        batch = fn.external_source(source=[images] * 2, layout="HWC")
        before = fn.external_source(source=[widths] * 2)
        return fn.pad(batch, axis_names="HW", before=before, after=2, mode=mode)

    made = pipeline()
    made.build()
    batch = gradiva.batch(images, layout="HWC")
    eager = gradiva.pad(batch, axis_names="HW", before=np.stack(widths), after=2, mode=mode)
    for run in (made.run()[0] for _ in range(2)):
        assert run.layout == "HWC"
        for number, (image, before) in enumerate(zip(images, widths, strict=True)):
            width = [(int(before[0]), 2), (int(before[1]), 2), (0, 0)]
            expected = np.pad(image, width, mode=mode)  # type: ignore[call-overload]
            np.testing.assert_array_equal(np.asarray(run.at(number)), expected)
            np.testing.assert_array_equal(np.asarray(eager.at(number)), expected)


def test_samples_without_elements() -> None:
    nothing = gradiva.batch([np.zeros((0, 4, 3), np.uint8)], layout="HWC")
    made = gradiva.pad(nothing, axis_names="W", before=2, mode="edge")
    assert made.shape == [(0, 6, 3)]
    with pytest.raises(OperatorValueError, match="`mode`"):
        gradiva.pad(nothing, axis_names="H", before=2, mode="edge")


def test_the_format_of_pipelines_has_no_place_for_it() -> None:
    @gradiva.pipeline_def(batch_size=1, num_threads=1)
    def pipeline(**arguments: Any) -> Any:
        return fn.pad(fn.external_source(name="images"), **arguments)

    assert pipeline(shape=(5,)).serialize()
    with pytest.raises(OperatorValueError, match="no place for this argument"):
        pipeline(before=(5,)).serialize()
