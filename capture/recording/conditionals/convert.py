"""The function behind a pipeline with conditionals, rewritten."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import dispatch, function_source

__all__ = ["convert"]


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that defines a pipeline, so that its `if` statements take symbols; wherever it
    stands, an installed library included."""
    if isinstance(function, FunctionType):
        return function_source.converted(function, dispatch, asked=True)
    made: Callable[..., Any] = dispatch.call(function)
    return made
