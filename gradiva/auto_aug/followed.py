"""Calls of automatic augmentations with targets behind the images."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from gradiva.eager.operators.input_sets import has_targets
from gradiva.eager.values.value import Following

__all__ = ["followed_first", "followed_second"]

P = ParamSpec("P")
T = TypeVar("T", bound=Following | dict[Any, Any] | tuple[Any, ...])


class _First(Protocol[P]):
    """A function of images, and of the targets that may stand behind them."""

    @overload
    def __call__(self, data: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    @overload
    def __call__(
        self, data: Any, targets: T, /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any, T]: ...


def _followed(function: Callable[..., Any], place: int) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = end = place + 1
        while end < len(args) and has_targets(args[end : end + 1]):
            end += 1
        if end == first:
            return function(*args, **kwargs)
        return function(*args[:first], *args[end:], _targets=args[first:end], **kwargs)

    return call


def followed_first(function: Callable[Concatenate[Any, P], Any]) -> _First[P]:
    """Decorator: targets may stand behind the first argument. The function gets them as `_targets`,
    a tuple, and then returns images and targets."""
    made: _First[P] = _followed(function, 0)
    return made


def followed_second(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: targets may stand behind the second argument."""
    made: Callable[..., Any] = _followed(function, 1)
    return made
