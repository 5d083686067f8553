"""Samples that are left out of a fused group's output: the rest lies as if they had never been."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import gradiva
from gradiva.eager.runtime.host_memory import ALIGNMENT
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.moved_together import moved_together
from tests.tiers import examples

SHAPES = some.lists(some.sampled_from([(3, 5), (8, 8), (64, 2), (1, 1), (0, 4)]), min_size=1)


@settings(max_examples=examples(200), deadline=None)
@given(
    shapes=SHAPES,
    same=some.booleans(),
    dtype=some.sampled_from(["uint8", "float32"]),
    data=some.data(),
)
def test_the_rest_is_a_batch_of_its_own(
    shapes: list[tuple[int, int]], same: bool, dtype: str, data: some.DataObject
) -> None:
    shapes = shapes[:1] * len(shapes) if same else shapes
    arrays = [np.full(shape, number % 251 + 1, dtype) for number, shape in enumerate(shapes)]
    kept = data.draw(some.lists(some.integers(0, len(shapes) - 1), unique=True, min_size=1))
    kept.sort()
    found = moved_together(gradiva.batch(arrays), np.array(kept))
    wanted = [arrays[number] for number in kept]
    assert [one.tolist() for one in found.arrays()] == [one.tolist() for one in wanted]
    assert (
        found.batch_shape.offsets.tolist()
        == BatchShape.of(np.array([shapes[number] for number in kept])).offsets.tolist()
    )
    assert not found.data.size or found.data.ctypes.data % ALIGNMENT == 0


@pytest.mark.parametrize("left_out", range(8))
def test_the_shorter_side_moves(left_out: int) -> None:
    batch = gradiva.batch([np.full((8, 8), number, np.uint8) for number in range(8)])
    before = batch.data.ctypes.data
    kept = np.delete(np.arange(8), left_out)
    found = moved_together(batch, kept)
    assert found.data.ctypes.data - before == (64 if left_out < 4 else 0)
    assert [int(one[0, 0]) for one in found.arrays()] == kept.tolist()
