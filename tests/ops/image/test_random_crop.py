"""Random windows: within their ranges, one for each key, the same in all operators and modes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch, decoders, fn, pipeline_def
from gradiva.ops.decoders.image.image import encode, picture
from tests.tiers import examples

SIZES = ((33, 47), (120, 90), (61, 20), (100, 150))
FILES = batch([encode(picture(*size), "PNG") for size in SIZES])
SHAPES = batch([np.array(size) for size in SIZES])


def generated(images: Batch, **arguments: Any) -> np.ndarray[Any, Any]:
    made: Any = gradiva.random_crop_generator(images, **arguments)
    anchors, shapes = made
    return np.hstack([anchors.as_array(), shapes.as_array()])


ranges = st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)).map(lambda pair: tuple(sorted(pair)))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 800), st.integers(1, 800), ranges, st.floats(0.2, 3), st.integers(0, 12))
def test_windows_are_in_their_ranges(
    height: int, width: int, area: tuple[float, float], ratio: float, attempts: int
) -> None:
    """Inside of the image; area and ratio are right but for whole pixels."""
    images = batch([np.array([height, width])] * 40)
    drawn = generated(
        images,
        seed=4,
        random_area=area,
        random_aspect_ratio=(ratio, 1.5 * ratio),
        num_attempts=attempts,
    )
    top, left, h, w = drawn.T.astype(np.float64)
    assert (drawn[:, :2] >= 0).all()
    assert (drawn[:, 2:] >= 1).all()
    assert (top + h <= height).all()
    assert (left + w <= width).all()
    assert (w - 1 <= (h + 1) * 1.5 * ratio).all()
    assert (w + 1 >= (h - 1) * ratio).all()
    assert ((h - 1) * (w - 1) <= area[1] * height * width).all()


def test_ratios_stay_in_their_range_after_rounding() -> None:
    drawn = generated(batch([np.array([375, 500])] * 5000), seed=1)
    ratios = drawn[:, 3] / drawn[:, 2]
    assert ratios.min() >= 3 / 4
    assert ratios.max() <= 4 / 3
    areas = drawn[:, 2] * drawn[:, 3] / (375 * 500)
    assert areas.min() > 0.08 - 0.003
    assert areas.max() > 0.95


def test_one_key_one_window() -> None:
    """The three operators cut the same window out of the same image."""
    windows = generated(SHAPES, seed=9)
    decoded = decoders.image(FILES)
    cut = decoders.image_random_crop(FILES, seed=9)
    for i, (top, left, height, width) in enumerate(windows.tolist()):
        expected = decoded.at(i)[top : top + height, left : left + width]
        np.testing.assert_array_equal(cut.at(i), expected)
    nearest: dict[str, Any] = {"interp_type": gradiva.types.INTERP_NN}
    resized = gradiva.random_resized_crop(decoded, size=(30, 40), seed=9, **nearest)
    after = gradiva.resize(cut, size=(30, 40), **nearest)
    for left_, right_ in zip(resized, after, strict=True):
        np.testing.assert_array_equal(np.asarray(left_), np.asarray(right_))


def test_windows_do_not_depend_on_the_batch() -> None:
    """Batch size and threads change no window; another seed and another call do."""
    with gradiva.step(first_position=0, batch_size=4):
        whole = generated(SHAPES)
        second = generated(SHAPES)
    with gradiva.step(first_position=2, batch_size=2):
        half = generated(batch([SHAPES.at(2), SHAPES.at(3)]))
    np.testing.assert_array_equal(whole[2:], half)
    assert (whole != second).any()
    assert (generated(SHAPES, seed=1) != generated(SHAPES, seed=2)).any()


def augment(files: Any) -> tuple[Any, Any]:
    cut = gradiva.resize(decoders.image_random_crop(files), size=(20, 30))
    images = decoders.image(files)
    return cut, gradiva.random_resized_crop(images, size=24)


def test_both_modes(photographs: Path) -> None:
    """Eager, and in pipelines of any batch size and number of threads, the bits are the same."""
    gradiva.random.set_seed(31)
    reader = gradiva.readers.File(file_root=str(photographs))
    eager: list[list[Any]] = [[], []]
    for files, _ in reader.next_epoch(batch_size=3):
        for kept, output in zip(eager, augment(files), strict=True):
            kept += [np.array(sample) for sample in output]

    for size, threads in ((2, 1), (3, 2)):

        @pipeline_def(batch_size=size, num_threads=threads, seed=31)
        def pipeline() -> Any:
            files, _ = fn.readers.file(file_root=str(photographs))
            return augment(files)

        pipe = pipeline()
        got: list[list[Any]] = [[], []]
        while len(got[0]) < len(eager[0]):
            for kept, output in zip(got, pipe.run(), strict=True):
                kept += [np.array(sample) for sample in output]
        pipe.close()
        for ours, expected in zip(got, eager, strict=True):
            for one, other in zip(ours, expected, strict=False):
                np.testing.assert_array_equal(one, other)


def test_errors_name_sample_and_file(tmp_path: Path) -> None:
    for name, size in (("a.png", (50, 60)), ("b.png", (20, 30))):
        (tmp_path / name).write_bytes(encode(picture(*size), "PNG").tobytes())
    reader = gradiva.readers.File(files=[str(tmp_path / "a.png"), str(tmp_path / "b.png")])
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda files: decoders.image_crop(files, crop=(40, 40)),
        lambda files: decoders.image_slice(files, start=(10, 10), shape=(15, 15)),
    )
    for files, _ in reader.next_epoch(batch_size=2):
        for call in calls:
            with pytest.raises(gradiva.OperatorValueError) as caught:
                call(files)
            text = str(caught.value)
            assert "leaves the image" in text
            assert "20 x 30 pixels" in text
            assert "sample 1" in text
            assert "b.png" in text
