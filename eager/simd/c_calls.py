"""Functions of the C library, called from kernels by address: files are read without the
interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_extension
from gradiva.eager.types.arrays import Int64Array


def addresses(*names: str) -> Int64Array | None:
    """Where functions of the C library are; None where one of them is not to be found."""
    try:
        library = ctypes.CDLL(None)
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    except (OSError, AttributeError, TypeError):
        return None
    return np.array(found, np.int64)


def call_c(address: int, first: int, second: int, third: int, fourth: int) -> int:
    """Call a function of at most four integers or addresses; for kernels only. Of what a function
    returns as an `int` the lower 32 bits count."""
    raise NotImplementedError


@register_extension(call_c)
def _call_c_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `call_c`: a call through a pointer that is known at run time."""
    ir, _ = numba_adapter.llvm()
    integer = numba.types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 4)
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])

    def call(typing_context, address, first, second, third, fourth):  # type: ignore[no-untyped-def]
        return integer(*[integer] * 5), generate

    by_address = numba.extending.intrinsic(call)

    def pick(address, first, second, third, fourth):  # type: ignore[no-untyped-def]
        def body(address, first, second, third, fourth):  # type: ignore[no-untyped-def]
            return by_address(address, first, second, third, fourth)

        return body

    return pick
