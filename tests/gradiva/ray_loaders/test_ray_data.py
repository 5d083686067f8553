"""`Map`: gradiva functions in `map_batches` of Ray Data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.plugin.ray import Map

pytestmark = [
    pytest.mark.full,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("default"),  # Ray has some of its own
]


def noisy(values: Any) -> Any:
    noise = gradiva.random.uniform(range=(0, 1), batch_size=values.batch_size)
    return {"noisy": gradiva.cast(values, dtype=gradiva.types.FLOAT) + noise}


def test_map_batches(cluster: Any) -> None:
    """Random values belong to rows, whatever batches Ray Data makes."""
    data = pytest.importorskip("ray.data")
    pytest.importorskip("pandas")
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = [{"x": np.full(3, number, np.float32), "key": f"row {number}"} for number in range(20)]
    found = []
    for size, blocks in ((4, 2), (7, 3)):
        made = data.from_items(rows, override_num_blocks=blocks).map_batches(
            Map(noisy, "x", seed_column="key", keep=True),
            batch_format="numpy",
            batch_size=size,
            concurrency=1,
        )
        found.append({row["key"]: row["noisy"] for row in made.take_all()})
    one, other = found
    assert len(one) == 20
    assert all(np.array_equal(one[key], other[key]) for key in one)
    assert all(int(value[0]) == int(key.split()[1]) for key, value in one.items())


def test_refusals() -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="`fn`"):
        Map(3, "x")  # type: ignore[arg-type]
