"""A user's function on arrays of another kind, as `python_function` calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["AdaptedFunction"]


class AdaptedFunction:
    """The function between two conversions: `before` of each NumPy array that it gets, `after` of
    each thing that it returns; both also of the items of lists."""

    def __init__(
        self,
        function: Callable[..., Any],
        before: Callable[[Any], Any],
        after: Callable[[Any], Any],
    ) -> None:
        functools.update_wrapper(self, function)
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        self._function, self._before, self._after = function, before, after
        self.prefetchable = getattr(function, "prefetchable", False)

    def __call__(self, *arguments: Any) -> Any:
        return self._returned(self._function(*[self._given(value) for value in arguments]))

    def _given(self, value: Any) -> Any:
        return list(map(self._given, value)) if isinstance(value, list) else self._before(value)

    def _returned(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple | list):
            return type(value)(map(self._returned, value))
        return self._after(value)
