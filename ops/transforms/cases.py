"""What the cases of operators that make transforms share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array


def makes(name: str, *matrices: Float32Array, **arguments: Any) -> op.Case:
    """The case of a batch of these transforms, not compared with DALI."""
    call = op.case(name, batch_size=len(matrices), **arguments)
    return call.equals([*matrices]).no_oracle()


def matrix(*rows: list[float]) -> Float32Array:
    """A matrix of these rows, for cases."""
    return np.array(rows, np.float32)


def transforms_for_cases() -> tuple[op.Batch, op.Batch, op.Batch]:
    """Two transforms of the plane, two sequences of them, and what is no transform."""
    moves = op.samples((2, 3), (2, 3), dtype=op.float32, layout="")
    frames = op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    return moves, frames, op.samples((2, 2), dtype=op.float32, layout="")
