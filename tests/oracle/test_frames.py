"""element_extract, sequence_rearrange, per_frame, permute_batch and batch_permutation against DALI:
exact, permutations by their distribution."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import part, pictures, ramp
from .reference import DTYPES, NAMES, agree, assert_close, check, feed, fn, reference, run


def videos(dtype: Any = np.uint8, layout: str = "FHWC") -> gradiva.Batch:
    frames = [part("coffee", 10 * k, 100, 33, 41) for k in range(4)]
    return batch([np.stack(frames).astype(dtype), ramp(3, 5, 7, 2, dtype=dtype)], layout=layout)


@pytest.mark.parametrize("name", NAMES)
def test_frames(name: str) -> None:
    images = videos(DTYPES[name].numpy)
    check("element_extract", images, element_map=[2])
    check("element_extract", images, element_map=0)
    check("sequence_rearrange", images, new_order=[2, 0, 0, 1, 2])
    check("sequence_rearrange", images, new_order=1)
    check("permute_batch", images, indices=[1, 0])
    check("permute_batch", images, indices=[1, 1])
    check("permute_batch", pictures(np.uint8), indices=[3, 1, 5, 5, 0, 2])


def test_several_outputs() -> None:
    images = videos()
    expected = reference("element_extract", [images], outputs=3, element_map=[1, 0, 1])
    made: Any = gradiva.element_extract(images, element_map=[1, 0, 1])
    for ours, theirs in zip(made, expected, strict=True):
        assert_close(ours, theirs)


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "", "HWCF", "DHWC"])
def test_layouts(layout: str) -> None:
    images = videos(layout=layout)
    check("element_extract", images, element_map=[1], both_may_refuse=True)
    check("sequence_rearrange", images, new_order=[1], both_may_refuse=True)
    for replace in (False, True):
        if "F" not in layout[1:]:
            check("per_frame", images, replace=replace, both_may_refuse=True)


def test_refusals() -> None:
    images, scalars = videos(), batch([np.int8(1), np.int8(2)])
    for numbers in ([3], [4], [-1], []):
        check("element_extract", images, element_map=numbers, both_may_refuse=True)
        check("sequence_rearrange", images, new_order=numbers, both_may_refuse=True)
    for indices in ([0], [0, 1, 0], [0, 2], [0, -1], []):
        if indices != [0]:
            check("permute_batch", images, indices=indices, both_may_refuse=True)
    check("element_extract", scalars, element_map=[0], both_may_refuse=True)
    check("sequence_rearrange", scalars, new_order=[0], both_may_refuse=True)
    check("per_frame", scalars, both_may_refuse=True)
    check("per_frame", scalars, replace=True, both_may_refuse=True)


def test_per_frame() -> None:
    for shape in ((3,), (3, 4), (2, 3, 4, 5)):
        check("per_frame", [ramp(*shape), ramp(*shape)])
    check("per_frame", [ramp(2, 3)], layout="HW", replace=True)
    check("per_frame", [ramp(2, 3)], layout="FW", replace=True)


def test_orders_of_different_lengths() -> None:
    images = videos()
    orders = [np.array([1], np.int32), np.array([0, 2, 1, 1], np.int32)]
    expected = reference(lambda x: fn.sequence_rearrange(x, new_order=feed(orders)), [images])
    assert_close(gradiva.sequence_rearrange(images, new_order=batch(orders)), expected)
    for last in ([0, 3], []):
        bad = [np.array([1], np.int32), np.array(last, np.int32)]
        agree(
            partial(gradiva.sequence_rearrange, images, new_order=batch(bad)),
            partial(reference, partial(_rearrange, bad), [images]),
        )


def _rearrange(orders: Any, images: Any) -> Any:
    return fn.sequence_rearrange(images, new_order=feed(orders))


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    extents=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    order=st.lists(st.integers(-1, 4), max_size=5),
)
def test_any_order(extents: list[int], order: list[int]) -> None:
    samples = [ramp(*extents, dtype=np.int16, seed=seed) for seed in range(3)]
    check("sequence_rearrange", samples, new_order=order, both_may_refuse=True)
    if len(order) == 1:
        check("element_extract", samples, element_map=order, both_may_refuse=True)
    if len(order) != 1:
        check("permute_batch", samples, indices=order, both_may_refuse=True)


def test_vectors_of_frames() -> None:
    """There, a sequence has at least two axes."""
    numbers = batch([np.array([5, 6, 7], np.int32)], layout="F")
    assert gradiva.element_extract(numbers, element_map=[1]).at(0) == 6
    assert gradiva.sequence_rearrange(numbers, new_order=[2, 0]).at(0).tolist() == [7, 5]


@pytest.mark.parametrize("move", [False, True])
@pytest.mark.parametrize("repeat", [False, True])
def test_permutations(repeat: bool, move: bool) -> None:
    """Exactly the outcomes that DALI has, each about as often as any other."""
    drawn: Counter[tuple[int, ...]] = Counter()
    for seed in range(4000):
        got = gradiva.batch_permutation(
            batch_size=4, seed=seed, allow_repetitions=repeat, no_fixed_points=move
        )
        drawn[tuple(got.as_array().tolist())] += 1
    outcomes = {(False, False): 24, (False, True): 9, (True, False): 256, (True, True): 81}
    count = outcomes[repeat, move]
    assert len(drawn) == count
    expected = 4000 / count
    chi_square = sum((n - expected) ** 2 / expected for n in drawn.values())
    assert chi_square < count + 5 * (2 * count) ** 0.5
    for seed in range(20):
        (theirs,) = run(
            lambda: fn.batch_permutation(allow_repetitions=repeat, no_fixed_points=move), 4, seed
        )
        assert tuple(int(x) for x in theirs) in drawn
    alone = gradiva.batch_permutation(batch_size=1, no_fixed_points=move)
    assert alone.as_array().tolist() == [0]
