"""`.slice[...]` of batches and brackets of tensors against NumPy, sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import GradivaError, batch, newaxis, tensor
from tests.tiers import examples

pytestmark = pytest.mark.tiny

NUMBERS = st.integers(-7, 7)
ENDS = st.none() | NUMBERS | st.lists(NUMBERS, min_size=3, max_size=3)
STEPS = st.none() | st.integers(1, 3) | st.integers(-3, -1) | st.just([1, -2, 3])
ITEMS = (
    st.just(...)
    | st.none()
    | st.just(newaxis)
    | NUMBERS
    | st.lists(st.integers(-2, 1), min_size=3, max_size=3)
    | st.builds(slice, ENDS, ENDS, STEPS)
)
SHAPES = st.integers(1, 3).flatmap(
    lambda ndim: st.lists(
        st.lists(st.integers(0, 5), min_size=ndim, max_size=ndim), min_size=3, max_size=3
    )
)


def of_sample(item: Any, sample: int) -> Any:
    """An item of a subscript for one sample, as NumPy takes it."""
    if isinstance(item, list):
        return item[sample]
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        return slice(*[end[sample] if isinstance(end, list) else end for end in ends])
    return np.newaxis if item is newaxis else slice(None) if item is None else item


def given_per_sample(item: Any) -> Any:
    """The same item with batches, for ours."""
    if isinstance(item, list):
        return batch([np.int64(number) for number in item])
    if isinstance(item, slice):
        return slice(*[given_per_sample(end) for end in (item.start, item.stop, item.step)])
    return item


def numpys(array: np.ndarray[Any, Any], items: list[Any], sample: int) -> Any:
    return array[(*(of_sample(item, sample) for item in items),)]


@settings(max_examples=examples(150), deadline=None)
@given(SHAPES, st.lists(ITEMS, max_size=4))
def test_slice(shapes: list[list[int]], items: list[Any]) -> None:
    arrays = [np.arange(int(np.prod(shape))).reshape(shape) for shape in shapes]
    ours = (*(given_per_sample(item) for item in items),)
    try:
        wanted = [numpys(array, items, i) for i, array in enumerate(arrays)]
    except IndexError:
        with pytest.raises(GradivaError):
            batch(arrays).slice[ours]
        return
    result = batch(arrays).slice[ours]
    for made, sample in zip(result, wanted, strict=True):
        assert made.shape == sample.shape
        assert np.asarray(made).tolist() == sample.tolist()


@settings(max_examples=examples(150), deadline=None)
@given(SHAPES, st.lists(ITEMS, max_size=4))
def test_brackets(shapes: list[list[int]], items: list[Any]) -> None:
    array = np.arange(int(np.prod(shapes[0]))).reshape(shapes[0])
    plain = [of_sample(item, 0) for item in items]
    # None is a whole axis here; newaxis makes one, as in NumPy.
    ours = (*(item if item is newaxis else own for item, own in zip(items, plain, strict=True)),)
    try:
        wanted = array[(*plain,)]
    except IndexError:
        with pytest.raises(GradivaError):
            tensor(array)[ours]
        return
    made = tensor(array)
    assert made[ours].shape == wanted.shape
    assert np.asarray(made[ours]).tolist() == wanted.tolist()
    if wanted.size:
        assert np.shares_memory(np.asarray(made), np.asarray(made[ours]))
