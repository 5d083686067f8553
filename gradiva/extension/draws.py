"""Random numbers inside an operator of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.call import Call
from gradiva.eager.random.philox import philox
from gradiva.eager.support.errors import OperatorRuntimeError

__all__ = ["draws"]


@jit
def _draw(out: Any, positions: Any, seed: Any, number: Any) -> None:
    unit = np.float32(2.0**-24)
    samples, count = out.shape
    for i in range(samples):
        position = np.uint64(positions[i])
        for first in range(0, count, 4):
            words = philox(np.uint32(first // 4), number, position, seed)
            for k in range(min(4, count - first)):
                out[i, first + k] = np.float32(words[k] >> np.uint32(8)) * unit


def draws(call: Call, count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """`count` uniform numbers for each sample of a random call: float32, (N, count).

    Multiples of 2**-24 from 0, 1 not included: those that `random.uniform(range=(0, 1))` draws
    for the same key and samples. Asked twice in a call, they are the same; a sample's numbers do
    not depend on the batch around it. Raises OperatorRuntimeError for an operator that was not
    declared with `random=True`.
    """
    if call.key is None or call.positions is None:
        raise OperatorRuntimeError(
            "only operators declared with `random=True` can draw", operator=call.operator.name
        )
    out = np.empty((call.size, count), np.float32)
    _draw(out, call.positions, np.uint64(call.key.seed), np.uint32(call.key.number))
    return out
