"""`slice` and `decoders.image_slice` of axes whose number differs from sample to sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, fn, pipeline_def

SHAPES = [(6, 8, 3), (5, 5, 4), (9, 4, 3), (7, 6, 2)]
AXES = [[0], [1, 0], [], [-1, 0]]
LOW = [[0.25], [0.2, 0.4], [0.1, 0.2, 0.3], [0.5, 0.25]]
EXTENT = [[0.5], [0.4, 0.6], [0.5, 0.5, 0.4], [0.5, 0.5]]


def images() -> Any:
    generator = np.random.default_rng(3)
    return gradiva.batch([generator.integers(0, 256, one, dtype=np.uint8) for one in SHAPES])


def uneven(rows: list[list[Any]], dtype: Any) -> Any:
    return gradiva.batch([np.array(row, dtype) for row in rows])


def expected() -> list[Any]:
    found = []
    for image, axes, low, extent in zip(images(), AXES, LOW, EXTENT, strict=True):
        ranges = [slice(None)] * 3
        for axis, first, length in zip(axes or range(3), low, extent, strict=True):
            size = image.shape[axis]
            begin, end = first * size, (first + length) * size
            ranges[axis] = slice(int(begin + 0.5), int(end + 0.5))
        found.append(np.asarray(image)[tuple(ranges)])
    return found


FORMS: dict[str, Any] = {
    "inputs": lambda call, data, axes, low, extent: call(data, low, extent, axes=axes),
    "names": lambda call, data, axes, low, extent: call(
        data, rel_start=low, rel_shape=extent, axes=axes
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("mode", ["eager", "lists", "deferred", "pipeline"])
def test_relative(form: Any, mode: str) -> None:
    data, axes = images(), uneven(AXES, np.int32)
    low, extent = uneven(LOW, np.float32), uneven(EXTENT, np.float32)
    if mode == "pipeline":

        @pipeline_def(batch_size=4, num_threads=2, device_id=None)
        def pipeline() -> Any:
            parts = fn.external_source([(data, axes, low, extent)], num_outputs=4)
            return form(fn.slice, *parts)

        with pipeline() as pipe:
            (found,) = pipe.run()
    elif mode == "deferred":
        with EvalMode.deferred:
            found = form(gradiva.slice, data, axes, low, extent)
            assert len(found) == 4
    elif mode == "lists":
        if form is FORMS["inputs"]:
            found = gradiva.slice(data, low, extent, axes=AXES)
        else:
            found = gradiva.slice(data, rel_start=LOW, rel_shape=EXTENT, axes=AXES)
    else:
        found = form(gradiva.slice, data, axes, low, extent)
    for one, wanted in zip(found, expected(), strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_elements_and_one_number_for_all() -> None:
    data = images()
    start, axes = [[1], [1, 2], [0, 1, 0], [2]], [[1], [0, 1], [0, 1, 2], [0]]
    found = gradiva.slice(data, start=start, end=[[4], [4], [4, 4, 2], [4]], axes=axes)
    wanted: list[Any] = [np.s_[:, 1:4], np.s_[1:4, 2:4], np.s_[:4, 1:4, :2], np.s_[2:4]]
    for one, image, ranges in zip(found, data, wanted, strict=True):
        np.testing.assert_array_equal(one, np.asarray(image)[ranges])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rel_start": [[0.1], [0.1], [0.1, 0.1], [0.1]]}, r"`rel_start`.*1 or 3 numbers, got 2"),
        ({"axes": [[0], [1, 1], [], [-1, 0]]}, "each axis once.*in sample 1"),
        ({"axes": [[0], [1, 0], [], [0, 3]]}, "from -3 to 2.*in sample 3"),
        ({"rel_shape": [[0.5], [0.4, 0.9], [0.5] * 3, [0.5] * 2]}, "in sample 1"),
    ],
)
def test_errors_name_the_sample(change: dict[str, Any], words: str) -> None:
    given = {"rel_start": LOW, "rel_shape": EXTENT, "axes": AXES, **change}
    with pytest.raises(gradiva.OperatorValueError, match=f"(?s){words}"):
        gradiva.slice(images(), **given)


def test_an_input_of_another_length() -> None:
    low = uneven([[0.1], [0.1, 0.1], [0.1], [0.1, 0.2]], np.float32)
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)anchor.*3, got 1.*in sample 2"):
        gradiva.slice(images(), low, uneven(EXTENT, np.float32), axes=AXES)


def test_decoded_windows() -> None:
    picture = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
    header = b"P6 30 20 255\n"
    files = gradiva.batch([np.frombuffer(header + picture.tobytes(), np.uint8)] * 3)
    found = gradiva.decoders.image_slice(
        files, start=[[2], [3, 4], [5, 6]], end=[[9], [8, 20], [11, 12]], axes=[[0], [0, 1], []]
    )
    wanted = [picture[2:9], picture[3:8, 4:20], picture[5:11, 6:12]]
    for one, part in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, part)


def test_starts_of_no_samples() -> None:
    """Computed ones: an empty batch does not say how many numbers each sample would have."""
    none = gradiva.batch([np.zeros((4, 5), np.uint8)], layout="HW").select([])
    start = gradiva.shapes(none) // 2
    assert len(gradiva.slice(none, start=start, shape=(2, 2), axis_names="HW")) == 0
    assert len(gradiva.slice(none, rel_start=start * 0.5, rel_shape=0.5, axis_names="HW")) == 0
