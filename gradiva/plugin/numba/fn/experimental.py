"""`numba_function` under the name of its trial version."""

from gradiva.ops.external_source.numba_function import numba_function

__all__ = ["numba_function"]
