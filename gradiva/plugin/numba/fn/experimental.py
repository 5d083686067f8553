"""`numba_function` under the name of its trial version."""

from gradiva.ops.python_function.numba_function import numba_function

__all__ = ["numba_function"]
