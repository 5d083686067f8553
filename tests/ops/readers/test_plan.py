"""Plans are pure functions of seed and epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.order import _MANY, _sort_keys, _sorted_by, permutation
from gradiva.ops.readers.core.plan import ShardedPlan
from tests.tiers import examples


@settings(max_examples=examples(80), deadline=None)
@given(
    size=st.integers(1, 40),
    shards=st.integers(1, 4),
    pad=st.booleans(),
    shuffle=st.booleans(),
    data=st.data(),
)
def test_any_part_in_any_order(
    size: int, shards: int, pad: bool, shuffle: bool, data: st.DataObject
) -> None:
    """A part of an epoch is the same whatever was asked for before."""
    if shards > size:
        return
    plan = ShardedPlan(size, 5, shuffle, shards, shards - 1, False, pad)
    for _ in range(4):
        epoch = data.draw(st.integers(0, 5))
        length = plan.length(epoch)
        start = data.draw(st.integers(0, length))
        stop = data.draw(st.integers(start, length))
        fresh = ShardedPlan(size, 5, shuffle, shards, shards - 1, False, pad)
        whole = fresh.indices(epoch, 0, length)
        np.testing.assert_array_equal(plan.indices(epoch, start, stop), whole[start:stop])
        places = fresh.positions(epoch, 0, length)
        np.testing.assert_array_equal(plan.positions(epoch, start, stop), places[start:stop])


def test_looking_ahead_moves_nothing() -> None:
    cursor = Cursor(ShardedPlan(7, 1, True))
    cursor.take(5)
    before = cursor.get_state()
    coming = cursor.coming(6)
    assert cursor.get_state() == before
    np.testing.assert_array_equal(cursor.take(6)[0], coming)


def test_a_state_brings_its_seed() -> None:
    cursor = Cursor(ShardedPlan(50, 1, True))
    cursor.take(60)
    other = Cursor(ShardedPlan(50, 2, True))
    other.set_state(cursor.get_state())
    np.testing.assert_array_equal(other.take(70)[0], cursor.take(70)[0])
    with pytest.raises(gradiva.OperatorValueError, match="not the state of a reader"):
        other.set_state({"epoch": -1, "index": 0, "size": 50, "seed": 1})


def test_large_permutations() -> None:
    """They are sorted by parts, with the bits of a stable sort."""
    size = _MANY + 12345
    keys = np.empty(size, np.uint64)
    _sort_keys(np.uint64(7), np.uint64(2), keys)
    np.testing.assert_array_equal(permutation(7, 2, size), np.argsort(keys, kind="stable"))
    # Equal keys keep their order.
    keys = np.random.default_rng(0).integers(0, 40, 500).astype(np.uint64) << np.uint64(58)
    stops, order = np.zeros((1 << 4) + 1, np.int64), np.empty(500, np.int64)
    _sorted_by(keys, np.uint64(60), stops, np.empty_like(keys), order)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
