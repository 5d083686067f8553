"""Hooks: a lower package declares a function or object that a higher package provides on import."""

from __future__ import annotations

import importlib
from typing import Generic, TypeVar

__all__ = ["Hook"]

T = TypeVar("T")


class Hook(Generic[T]):
    """A place for one function or object.

    what: names it in the error of who finds it empty. module: the one that fills it, which is
    imported when somebody asks first; it is named by its text, for it is in a higher package.
    value: None until it is set.
    """

    __slots__ = ("module", "value", "what")

    def __init__(self, what: str, module: str) -> None:
        self.what = what
        self.module = module
        self.value: T | None = None

    @property
    def filled(self) -> bool:
        """Whether a value is set. Asking does not import anything."""
        return self.value is not None

    def fill(self, value: T) -> None:
        """Set the value, replacing an earlier one."""
        self.value = value

    def get(self) -> T:
        """The value. Raises LookupError if none is set."""
        if self.value is None:
            importlib.import_module(self.module)
        if self.value is None:
            raise LookupError(f"{self.what}: {self.module} does not provide it")
        return self.value
