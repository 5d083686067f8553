"""Subscripts of symbols against DALI: all forms that it has. It has no `...` there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import Batch, GradivaError, batch, newaxis

from .pictures import pictures
from .reference import REFUSALS, assert_close, dali, reference

Form = Callable[[Any, Any, Any], Any]
"""Of a value that takes subscripts, a number per sample, and `newaxis`."""

FORMS: dict[str, Form] = {
    "index": lambda x, i, new: x[0],
    "from the end": lambda x, i, new: x[-1, -2],
    "all": lambda x, i, new: x[0, 0, 0],
    "NumPy's": lambda x, i, new: x[np.int64(1), np.array(1)],
    "truth": lambda x, i, new: x[True],
    "range": lambda x, i, new: x[1:3],
    "second axis": lambda x, i, new: x[:, 1:-1],
    "cut": lambda x, i, new: x[2:10000, -10000:2],
    "far": lambda x, i, new: x[2**40 :],
    "nothing": lambda x, i, new: x[3:1],
    "steps": lambda x, i, new: x[::2, 1::3],
    "backwards": lambda x, i, new: x[::-1, 10:0:-2, :1:-1],
    "backwards from beyond": lambda x, i, new: x[10000:-10000:-3],
    "backwards, nothing": lambda x, i, new: x[-10000::-1, 1:3:-1],
    "None": lambda x, i, new: x[None, 1],
    "no subscripts": lambda x, i, new: x[()],
    "per sample": lambda x, i, new: x[i],
    "per sample, two": lambda x, i, new: x[i, :, i],
    "start per sample": lambda x, i, new: x[i:, 0],
    "stop per sample": lambda x, i, new: x[:, 0:i],
    "step per sample": lambda x, i, new: x[::i],
    "all per sample": lambda x, i, new: x[i : i + 3 : i * i],
    "new": lambda x, i, new: x[new],
    "new, later": lambda x, i, new: x[:, new, 0],
    "new, named": lambda x, i, new: x[new("N")],
    "new, named, later": lambda x, i, new: x[0, new("N"), :, new("M")],
    "new, named, of a scalar": lambda x, i, new: x[0, 0, 0, new("N")],
}
REFUSED: dict[str, Form] = {
    "outside": lambda x, i, new: x[10000],
    "outside, negative": lambda x, i, new: x[-10000],
    "outside, per sample": lambda x, i, new: x[i * 10000],
    "too many": lambda x, i, new: x[0, 0, 0, 0],
    "step 0": lambda x, i, new: x[::0],
    "step 0 per sample": lambda x, i, new: x[:: i - i],
    "text": lambda x, i, new: x["a"],
    "a number with a fraction": lambda x, i, new: x[1.5],
    "fractions per sample": lambda x, i, new: x[i * 1.0],
    "truth per sample": lambda x, i, new: x[i > 0],
    "list": lambda x, i, new: x[[0, 1]],
    "vector": lambda x, i, new: x[np.array([0, 1])],
    "some named": lambda x, i, new: x[new("N"), new],
    "two letters": lambda x, i, new: x[new("NM")],
    "iteration": lambda x, i, new: list(x),
}


class Brackets:
    """A batch whose brackets are those of its samples."""

    __iter__ = None

    def __init__(self, images: Batch) -> None:
        self.images = images

    def __getitem__(self, ranges: Any) -> Any:
        return self.images.slice[ranges]


def compare(form: Form, images: Batch, numbers: Batch) -> bool:
    """Both take the form, with equal results, or both refuse it; returns whether they take it."""
    try:
        theirs = reference(lambda x, i: form(x, i, dali.newaxis), [images, numbers])
    except (NotImplementedError, *REFUSALS):
        with pytest.raises((GradivaError, TypeError)):
            form(Brackets(images), numbers, newaxis)
        return False
    assert_close(form(Brackets(images), numbers, newaxis), theirs)
    return True


def ragged(layout: str) -> tuple[Batch, Batch]:
    """Images in which no axis is short, and a number per sample."""
    noise = np.random.default_rng(0)
    shapes = ((7, 9, 4), (5, 6, 3), (12, 5, 3))
    arrays = [noise.integers(0, 256, shape, np.uint8) for shape in shapes]
    return batch(arrays, layout=layout), batch([np.int32(i) for i in (1, -1, 2)])


@pytest.mark.parametrize("layout", ["HWC", ""])
@pytest.mark.parametrize("name", [*FORMS, *REFUSED])
def test_forms(name: str, layout: str) -> None:
    form = {**FORMS, **REFUSED}[name]
    without = layout or name not in ("new, named", "new, named, later")
    assert compare(form, *ragged(layout)) == bool(name in FORMS and without)


@pytest.mark.parametrize("name", FORMS)
def test_short_axes(name: str) -> None:
    """Of one row, one column, one pixel; many forms are refused for these."""
    images = pictures()
    compare(FORMS[name], images, batch([np.int32((1, -1, 2)[i % 3]) for i in range(len(images))]))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_types_of_numbers(dtype: str) -> None:
    images, _ = ragged("HWC")
    numbers = batch([np.array(i, dtype) for i in range(len(images))])
    assert compare(FORMS["per sample"], images, numbers)
    assert compare(FORMS["start per sample"], images, numbers)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_types_of_samples(dtype: str) -> None:
    images = batch([np.arange(24).reshape(4, 6).astype(dtype), np.ones((5, 7), dtype)])
    numbers = batch([np.int32(1), np.int32(-1)])
    assert compare(lambda x, i, new: x[i:, ::-2], images, numbers)


place = st.integers(-14, 14)
part = st.one_of(
    place, st.builds(slice, st.none() | place, st.none() | place, st.none() | place.filter(bool))
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(parts=st.lists(part, max_size=3), layout=st.sampled_from(["HWC", ""]))
def test_drawn(parts: list[Any], layout: str) -> None:
    """DALI runs out of memory for a range with steps that ends before it begins."""
    images, numbers = ragged(layout)
    backwards = [
        abs(one.step or 1) > 1 and not range(*one.indices(extent))
        for shape in images.shape
        for one, extent in zip(parts, shape, strict=False)
        if isinstance(one, slice)
    ]
    if not any(backwards):
        compare(lambda x, i, new: x[tuple(parts)], images, numbers)
        return
    try:
        wanted = [image[tuple(parts)] for image in images.arrays()]
    except IndexError:
        with pytest.raises(GradivaError):
            images.slice[tuple(parts)]
        return
    assert_close(images.slice[tuple(parts)], wanted)
