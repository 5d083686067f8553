"""Cases: example calls that each operator declares, from which generic tests are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.dtypes import DType, uint8
from gradiva.eager.values.batch import Batch, batch

__all__ = ["Case", "samples"]


@dataclass(frozen=True)
class Case:
    """One call. expect: the samples of the first output by an independent computation, or None;
    raises: the error the call must give, whose text must hold `match`; oracle: whether the
    reference library, where it is installed, must agree (see `tests/oracle.py`)."""

    name: str
    inputs: tuple[Any, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    expect: Sequence[np.ndarray[Any, Any]] | None = None
    raises: type[GradivaError] | None = None
    match: str = ""
    oracle: bool = True


def samples(
    *shapes: tuple[int, ...],
    dtype: DType = uint8,
    layout: str = "HWC",
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
) -> Batch:
    """A batch of reproducible noise: over the whole range of 8 and 16 bit integers, in +-1000 for
    wider ones, in 0..1 for floats."""
    generator = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        if dtype.is_float:
            values: np.ndarray[Any, Any] = generator.uniform(
                low or 0.0, 1.0 if high is None else high, shape
            )
        elif dtype.is_bool:
            values = generator.integers(0, 2, shape)
        else:
            limits = np.iinfo(dtype.numpy)
            least = max(limits.min, -1000) if dtype.bits > 16 else limits.min
            most = min(limits.max, 1000) if dtype.bits > 16 else limits.max
            values = generator.integers(
                least if low is None else int(low),
                most if high is None else int(high),
                shape,
                endpoint=True,
            )
        arrays.append(values.astype(dtype.numpy))
    if not arrays:
        empty = np.empty((0, *([1] * len(layout or "H"))), dtype.numpy)
        return batch(empty, layout=layout)
    return batch(arrays, layout=layout)
