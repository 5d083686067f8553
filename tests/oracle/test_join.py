"""cat and stack against DALI: exact, layouts included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch

from .pictures import part, pictures, ramp
from .reference import DTYPES, NAMES, agree, assert_close, reference


def check(name: str, inputs: list[Batch], **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    assert_close(function(*inputs, **arguments), reference(name, inputs, **arguments))


def refuse_alike(name: str, inputs: list[Batch], **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    agree(lambda: function(*inputs, **arguments), lambda: reference(name, inputs, **arguments))


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_cat_axes_and_dtypes(name: str, axis: int) -> None:
    generator = np.random.default_rng(axis + 3)
    dtype = DTYPES[name].numpy
    for layout in ("HWC", ""):
        shapes = generator.integers(1, 6, (4, 3))
        inputs = []
        for seed in range(3):
            shapes[:, axis] = generator.integers(0, 6, 4)
            samples = [ramp(*shape, dtype=dtype, seed=seed) for shape in shapes]
            inputs.append(batch(samples, layout=layout))
        check("cat", inputs, axis=axis)
        if layout:
            check("cat", inputs, axis_name=layout[axis])


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_stack_axes_and_dtypes(name: str, axis: int) -> None:
    dtype = DTYPES[name].numpy
    for layout in ("HWC", ""):
        shapes = np.random.default_rng(axis + 3).integers(1, 6, (4, 3))
        inputs = [
            batch([ramp(*shape, dtype=dtype, seed=seed) for shape in shapes], layout=layout)
            for seed in range(3)
        ]
        check("stack", inputs, axis=axis)
        if layout:
            check("stack", inputs, axis=axis, axis_name="N")


def test_pictures() -> None:
    for dtype in (np.uint8, np.float32):
        images = pictures(dtype)
        flipped = gradiva.flip(images)
        for axis in (0, 1, 2):
            check("cat", [images, flipped, images], axis=axis)
            check("stack", [images, flipped], axis=axis)
    halves = [part("coffee", 0, 0, 65, 131), part("coffee", 0, 131, 65, 90)]
    check("cat", [batch([half], layout="HWC") for half in halves], axis_name="W")


def test_many_inputs_and_large_samples() -> None:
    """Samples beyond what stays in one thread; forty inputs."""
    large = [batch([ramp(300, 200, 3, seed=i), ramp(300, 200, 3, seed=9)]) for i in range(3)]
    for axis in (0, 1, 2):
        check("cat", large, axis=axis)
        check("stack", large, axis=axis)
    small = [batch([ramp(2, 3, seed=i), ramp(1, 3, seed=i)]) for i in range(40)]
    check("cat", small)
    check("stack", small, axis=-1)


def test_ranks_and_layouts() -> None:
    scalars = batch([np.int16(3), np.int16(4)])
    vectors = batch([ramp(3), ramp(2)], layout="W")
    deep = batch([ramp(2, 1, 3, 2, 2), ramp(2, 2, 2, 1, 3)], layout="FDHWC")
    check("stack", [scalars, scalars])
    check("stack", [scalars], axis_name="N")
    check("cat", [vectors, gradiva.copy(vectors)], axis=0)
    for axis in range(5):
        check("cat", [deep, deep], axis=axis)
        check("stack", [deep, deep], axis=axis)
    named, plain = batch([ramp(2, 3)], layout="HW"), batch([ramp(2, 3)])
    for inputs in ([named, plain], [plain, named], [named, batch([ramp(2, 3)], layout="AB")]):
        check("cat", inputs)
        check("stack", inputs)


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_both_refuse(name: str) -> None:
    images, plain = batch([ramp(2, 3)], layout="HW"), batch([ramp(2, 3)])
    for axis in (-4, 3, 4, 99):
        refuse_alike(name, [images, images], axis=axis)
    for letters in ("", "XY"):
        refuse_alike(name, [images, images], axis_name=letters)
    refuse_alike(name, [plain, images], axis_name="W" if name == "cat" else "N")
    refuse_alike(name, [images, batch([ramp(2, 3, dtype=np.int8)])])
    refuse_alike(name, [images, batch([ramp(3)])])
    refuse_alike(name, [images, batch([ramp(2, 4)])])
    refuse_alike("cat", [images, images], axis=0, axis_name="W")
    refuse_alike("cat", [batch([np.int16(3)])])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    extents=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_shapes(shape: list[int], extents: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    inputs = []
    for seed, extent in enumerate(extents):
        own = [*shape[:axis], extent, *shape[axis + 1 :]]
        inputs.append(batch([ramp(*own, dtype=np.int32, seed=seed), ramp(*own, dtype=np.int32)]))
    check("cat", inputs, axis=axis)
    check("stack", [inputs[0]] * len(inputs), axis=axis)


def test_negative_axes_of_stack() -> None:
    """There, -2 is the most; here negative axes are NumPy's."""
    images = batch([ramp(2, 3), ramp(1, 4)])
    for axis in (-3, -2, -1):
        got = gradiva.stack(images, images, axis=axis)
        for i in range(2):
            np.testing.assert_array_equal(
                got.at(i), np.stack([images.at(i), images.at(i)], axis=axis)
            )


def test_samples_without_elements() -> None:
    """There, a sample without elements does not count, not even its shape; here it is one like any
    other, as in NumPy."""
    tall, none = batch([np.zeros((2, 0), np.int8)]), batch([np.zeros((1, 0), np.int8)])
    assert gradiva.cat(tall, none).shape == [(3, 0)]
    with pytest.raises(gradiva.OperatorValueError, match="sample 0"):
        gradiva.cat(batch([ramp(2, 3)]), batch([np.zeros((0, 4), np.uint8)]))
    check("cat", [batch([ramp(2, 3)]), batch([np.zeros((0, 3), np.uint8)])])
