"""Types of arrays, as kernels and what calls them name these.

The names of a kernel's arguments say the dtype and the number of axes: a vector has one, a table
two, a volume three. Without a dtype in the name it is that of the samples, and Numba compiles the
kernel for each that it meets. The names are for readers and for mypy; Numba compiles the same with
any annotation.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Of any dtype and any number of axes."""
Float32Array: TypeAlias = NDArray[np.float32]
Float64Array: TypeAlias = NDArray[np.float64]
Int64Array: TypeAlias = NDArray[np.int64]

Vector: TypeAlias = NDArray[Any]
Table: TypeAlias = NDArray[Any]
Volume: TypeAlias = NDArray[Any]
"""Of the dtype of the samples, or of several dtypes."""

U8Vector: TypeAlias = NDArray[np.uint8]
U16Vector: TypeAlias = NDArray[np.uint16]
U32Vector: TypeAlias = NDArray[np.uint32]
U64Vector: TypeAlias = NDArray[np.uint64]
I16Vector: TypeAlias = NDArray[np.int16]
I32Vector: TypeAlias = NDArray[np.int32]
I64Vector: TypeAlias = NDArray[np.int64]
F32Vector: TypeAlias = NDArray[np.float32]
F64Vector: TypeAlias = NDArray[np.float64]
BoolVector: TypeAlias = NDArray[np.bool_]

U8Table: TypeAlias = NDArray[np.uint8]
U64Table: TypeAlias = NDArray[np.uint64]
I32Table: TypeAlias = NDArray[np.int32]
I64Table: TypeAlias = NDArray[np.int64]
F32Table: TypeAlias = NDArray[np.float32]
F64Table: TypeAlias = NDArray[np.float64]
BoolTable: TypeAlias = NDArray[np.bool_]

U8Volume: TypeAlias = NDArray[np.uint8]
I32Volume: TypeAlias = NDArray[np.int32]
I64Volume: TypeAlias = NDArray[np.int64]
F32Volume: TypeAlias = NDArray[np.float32]

Slabs: TypeAlias = tuple[Vector, I64Vector, Vector, I64Vector]
"""The elements of a batch and where each sample begins, in elements: first of what is read, then of
what is written."""

Draws: TypeAlias = tuple[I64Vector, np.uint64, np.uint32]
"""What random values depend on: the position of each sample, the seed, the number of the call."""

Number: TypeAlias = Any
"""One value, of the dtype of the samples, or of several dtypes."""

Int: TypeAlias = int | np.int64
"""A whole number of 64 bits: Numba has one type for both."""
