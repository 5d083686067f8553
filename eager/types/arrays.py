"""Types of arrays, as kernels and what calls them name these."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["F32", "F64", "I64", "Array"]

Array: TypeAlias = NDArray[Any]
F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
I64: TypeAlias = NDArray[np.int64]
