"""`numba_function`: a function that Numba compiles, as an operator."""

from gradiva.ops.external_source.numba_function import numba_function
from gradiva.plugin.numba.fn import experimental

__all__ = ["experimental", "numba_function"]
