"""Type aliases for arrays, for kernels and their callers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Float32Array", "Float64Array", "Int64Array"]

Array: TypeAlias = NDArray[Any]
Float32Array: TypeAlias = NDArray[np.float32]
Float64Array: TypeAlias = NDArray[np.float64]
Int64Array: TypeAlias = NDArray[np.int64]
