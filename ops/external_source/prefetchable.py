"""Functions of the user's that operators call: how errors name them, and what may run ahead."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from gradiva.eager import extension as op

F = TypeVar("F", bound=Callable[..., Any])


def prefetchable(function: F) -> F:
    """Declare that a function does nothing but return a result that depends on its arguments only.

    Calls of operators that call it (`python_function`, `numba_function`) may then be made ahead of
    a captured loop, in another thread, also for steps that a `break` never reaches; and may be left
    out where their result is not used. Raises OperatorTypeError for what takes no attributes.

    It is a decorator, and returns the function itself:

        @gradiva.prefetchable
        def posterize(image):
            return image // 64 * 64
    """
    try:
        function.prefetchable = True  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        raise op.OperatorTypeError(
            operator="prefetchable",
            argument="function",
            expected="a function or another callable that attributes can be set on",
            got=op.describe(function),
        ) from None
    return function


def name_of(function: Any) -> str:
    """What a person calls a callable."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def raised(error: BaseException, function: Any, role: str) -> op.OperatorRuntimeError:
    """What an operator raises where the user's function has raised `error`."""
    text = f"the {role} {name_of(function)} raised {type(error).__name__}: {error}"
    trace = user_trace(error)
    return op.OperatorRuntimeError(f"{text}\n{trace}" if trace else text)


def user_trace(error: BaseException) -> str:
    """The frames of an exception as text, those of gradiva left out."""
    frames = [
        traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not str(frame.f_globals.get("__name__", "")).startswith("gradiva.")
    ]
    return "".join(traceback.format_list(frames)).rstrip()
