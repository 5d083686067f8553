"""`overridable`: a property that gives way to an attribute of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["overridable"]

T = TypeVar("T")


class overridable(Generic[T]):  # noqa: N801  it is used as `property` is
    """Decorator: like `property`, for what scripts may not know of: an object of a subclass may set
    an attribute of this name, and has that from then on."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.fget = function

    @overload
    def __get__(self, instance: None, owner: type) -> overridable[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self.fget(instance)
