"""`without_refcount`: arrays in kernels whose slices are not counted.

Numba counts who holds an array: each slice that is made and dropped adds and subtracts, by an
atomic instruction each. In a kernel that makes ten slices per row that was a fifth of the time. Its
arguments live as long as the call, so nothing has to be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .jit import register_extension

__all__ = ["without_refcount"]

A = TypeVar("A")


def without_refcount(array: A) -> A:
    """The same array, without an owner; for kernels only, and for arrays that outlive the call."""
    raise NotImplementedError


@register_extension(without_refcount)
def _without_refcount_in_kernels(numba: Any) -> Callable[..., Any]:
    """Teach Numba `without_refcount`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.return_type
        array = context.make_array(kind)(context, builder, values[0])
        for name in ("meminfo", "parent"):
            field = getattr(array, name)
            setattr(array, name, field.type(None))
        return array._getvalue()

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return array(array), generate

    without_owner = numba.extending.intrinsic(call)

    def pick(array):  # type: ignore[no-untyped-def]
        def body(array):  # type: ignore[no-untyped-def]
            return without_owner(array)

        return body

    return pick
