"""Places that a lower package owns and a higher one fills, when it is imported."""

from __future__ import annotations

import importlib
from typing import Generic, TypeVar

__all__ = ["Hook"]

T = TypeVar("T")


class Hook(Generic[T]):
    """A place for one function or object.

    what: names it in the error of who finds it empty. module: the one that fills it, which is
    imported when somebody asks first; it is named by its text, for it is in a higher package.
    """

    __slots__ = ("_value", "module", "what")

    def __init__(self, what: str, module: str) -> None:
        self.what = what
        self.module = module
        self._value: T | None = None

    @property
    def filled(self) -> bool:
        """Whether there is something in it. Asking imports nothing."""
        return self._value is not None

    def fill(self, value: T) -> None:
        """Put `value` there, in place of what was there."""
        self._value = value

    def get(self) -> T:
        """What was put there. Raises LookupError if that is nothing."""
        if self._value is None:
            importlib.import_module(self.module)
        if self._value is None:
            raise LookupError(f"{self.what}: {self.module} does not provide it")
        return self._value
