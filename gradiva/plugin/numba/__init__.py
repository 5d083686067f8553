"""Functions that Numba compiles, as operators: `fn.numba_function` and `NumbaFunction`."""

from gradiva.compat.dali.op_classes import class_of
from gradiva.plugin.numba import fn
from gradiva.plugin.numba.fn import numba_function

NumbaFunction = class_of("NumbaFunction", numba_function)

__all__ = ["NumbaFunction", "fn"]
