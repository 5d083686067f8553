"""Names that NumPy had once, for the import of a library that still asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

__all__ = ["old_names"]


def _gone(*_arguments: Any) -> NoReturn:
    raise NotImplementedError("NumPy does not have this function any more")


_NAMES: dict[str, Any] = {
    "bool": np.bool_,
    "Inf": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "alltrue": np.all,
    "in1d": np.isin,
    "mirr": _gone,
    "msort": _gone,
    "npv": _gone,
    "pmt": _gone,
    "ppmt": _gone,
    "product": np.prod,
    "pv": _gone,
    "rate": _gone,
    "round_": np.round,
    "sometrue": np.any,
    "trapz": getattr(np, "trapezoid", None),
}


@contextmanager
def old_names() -> Iterator[None]:
    """NumPy has these names in this block, and is afterwards as it was."""
    lacking = {name: value for name, value in _NAMES.items() if name not in vars(np)}
    vars(np).update(lacking)
    try:
        yield
    finally:
        for name in lacking:
            del vars(np)[name]
