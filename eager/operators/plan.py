"""Results of a shape rule for the kernels of the same call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Plan:
    """The shapes of the outputs, and what the shape rule found on the way to them.

    An operator derives a frozen dataclass from it with fields of its own, which its shape rule
    returns. Kernels that take a second argument receive it.

    shapes: a BatchShape, an int64 array (N, ndim), or a tuple with one of these for each output.
    """

    shapes: Any
