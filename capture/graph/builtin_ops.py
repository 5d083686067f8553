"""Internal nodes of graphs: constants, inputs, keys of random calls, fused groups, samples of
caches."""

from __future__ import annotations

from typing import Any

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.types.sample_type import SampleType


def _leaf() -> SampleType:
    """The types of leaves are set when they are recorded."""
    return SampleType()


constant = OperatorBase(_leaf, "constant", (0, 0))
parameter = OperatorBase(_leaf, "input", (0, 0))
random_key = OperatorBase(_leaf, "random_key", (0, 0))
fused = OperatorBase(_leaf, "fused", (1, 1 << 30))


def _cached(*inputs: SampleType, recipe: Any, on_error: str = "raise") -> SampleType:
    """recipe: a `CacheRecipe`, which knows the type."""
    made: SampleType = recipe.type
    return made


cached = OperatorBase(_cached, "cached", (1, 1 << 30))
