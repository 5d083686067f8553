"""Places that a lower package owns and a higher one fills, when it is imported."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Hook"]

T = TypeVar("T")


class Hook(Generic[T]):
    """A place for one function or object. what: names it in the error of who finds it empty."""

    __slots__ = ("_value", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self._value: T | None = None

    @property
    def filled(self) -> bool:
        """Whether there is something in it."""
        return self._value is not None

    def fill(self, value: T) -> None:
        """Put `value` there, in place of what was there."""
        self._value = value

    def get(self) -> T:
        """What was put there. Raises LookupError if that is nothing."""
        if self._value is None:
            raise LookupError(f"{self.what}: nothing provides it; import gradiva as a whole")
        return self._value
