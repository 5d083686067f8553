"""Results of a shape rule for the kernels of the same call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Plan", "kernel_of_call"]


@dataclass(frozen=True)
class Plan:
    """The shapes of the outputs, and what the shape rule found on the way to them.

    An operator derives a frozen dataclass from it with fields of its own, which its shape rule
    returns. Kernels that take a second argument receive it.

    shapes: a BatchShape, an int64 array (N, ndim), or a tuple with one of these for each output.
    """

    shapes: Any


def kernel_of_call(kernel: Any, arguments: int) -> Callable[..., Any]:
    """A kernel as a function of its first `arguments` arguments; the plan of the call is added."""
    code = getattr(kernel, "__code__", None)
    if code is None:
        return kernel  # type: ignore[no-any-return]
    # Neither the object of a method nor parameters with a default count.
    bound = int(getattr(kernel, "__self__", None) is not None)
    if code.co_argcount - bound - len(kernel.__defaults__ or ()) <= arguments:
        return kernel  # type: ignore[no-any-return]

    def planned(call: Any, *more: Any) -> Any:
        return kernel(call, *more, call.plan)

    return planned
