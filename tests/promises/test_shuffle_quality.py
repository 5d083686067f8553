"""Promise: shuffled epochs are drawn evenly: each order as likely as each other, whatever the seed,
and no epoch or seed tells of another."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.ops.readers.core.order import permutation
from gradiva.ops.readers.core.plan import ShardedPlan
from tests.soaking import Figures, scaled
from tests.tiers import few

SIZE = 12


def distance(counts: np.ndarray, expected: float) -> float:
    """Chi-square, in standard deviations from its mean."""
    degrees = counts.size - 1
    chi = float(((counts - expected) ** 2).sum() / expected)
    return (chi - degrees) / float(np.sqrt(2 * degrees))


@pytest.mark.parametrize("seed", few([0, 1, 12345, 2**63 - 1], 1))
def test_positions_and_neighbors(seed: int, figures: Figures) -> None:
    """Seeds and epochs are fixed, so this is no matter of luck."""
    epochs = scaled(2000)
    orders = np.stack([permutation(seed, epoch, SIZE) for epoch in range(epochs)])
    assert (np.sort(orders, axis=1) == np.arange(SIZE)).all()
    places = np.zeros((SIZE, SIZE))
    pairs = np.zeros((SIZE, SIZE))
    for column in range(SIZE):
        np.add.at(places[:, column], orders[:, column], 1)
        if column:
            np.add.at(pairs, (orders[:, column - 1], orders[:, column]), 1)
    apart = pairs[~np.eye(SIZE, dtype=bool)]
    found = {
        "places": distance(places, epochs / SIZE),
        "neighbors": distance(apart, epochs * (SIZE - 1) / apart.size),
        # Of two epochs, and of two seeds: a place has the same sample once in SIZE.
        "next_epoch": float((orders[1:] == orders[:-1]).mean() * SIZE - 1),
        "next_seed": float(
            np.mean([permutation(seed ^ 1, e, SIZE) == orders[e] for e in range(epochs)]) * SIZE - 1
        ),
    }
    assert max(abs(found["places"]), abs(found["neighbors"])) < 5, found
    assert max(abs(found["next_epoch"]), abs(found["next_seed"])) < 5 / epochs**0.5, found
    figures(epochs=epochs, **{name: round(value, 4) for name, value in found.items()})


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_mix(shards: int, figures: Figures) -> None:
    """A sample comes to each shard equally often."""
    epochs, size = scaled(1000), 20
    counts = np.zeros((size, shards))
    for shard in range(shards):
        plan = ShardedPlan(size, 7, True, shards, shard, True)
        for epoch in range(epochs):
            begin, end = size * shard // shards, size * (shard + 1) // shards
            order = plan.order.indices(epoch, np.arange(begin, end))
            counts[order, shard] += 1
    assert (counts.sum(axis=1) == epochs).all()
    assert abs(distance(counts, epochs / shards)) < 5
    figures(epochs=epochs)
