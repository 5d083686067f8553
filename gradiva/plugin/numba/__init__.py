"""Functions that Numba compiles, as operators: `fn.numba_function` and `NumbaFunction`."""

from typing import Any

from gradiva.compat.dali.op_classes import class_of
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.plugin.numba import fn
from gradiva.plugin.numba.fn import numba_function

_Base: Any = class_of("NumbaFunction", numba_function)


class NumbaFunction(_Base):  # type: ignore[misc]
    __doc__ = _Base.__doc__
    __module__ = _Base.__module__
    __signature__ = _Base.__signature__

    # Scripts that work with and without a GPU ask DALI's class before they choose a device.
    @staticmethod
    def _check_minimal_numba_version(throw: bool = True) -> bool:
        """Whether Numba is recent enough: gradiva does not install without such a version."""
        return True

    @staticmethod
    def _check_cuda_compatibility(throw: bool = True) -> bool:
        """Whether functions can run on a GPU: they cannot. Raises OperatorRuntimeError."""
        if throw:
            raise OperatorRuntimeError(
                "functions that Numba compiles run on the CPU alone", operator="numba_function"
            )
        return False


__all__ = ["NumbaFunction", "fn"]
