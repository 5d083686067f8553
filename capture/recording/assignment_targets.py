"""Targets of assignments in branches: variables, attributes and items."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .merging import UNDEFINED, Unusable

_READ: dict[str, Callable[[Any, Any], Any]] = {"attribute": getattr, "item": python.getitem}
_WRITE: dict[str, Callable[[Any, Any, Any], None]] = {"attribute": setattr, "item": python.setitem}
_DELETE: dict[str, Callable[[Any, Any], None]] = {"attribute": delattr, "item": python.delitem}


class AssignmentTarget:
    """name: as the user wrote it; lines: where each branch assigns to it, None where it does not;
    read: gives the variable, or the owner of an attribute or item, whose key `key` gives."""

    __slots__ = ("_key", "_kind", "_owner", "_read", "is_name", "lines", "name")

    def __init__(
        self,
        name: str,
        lines: tuple[int | None, int | None],
        read: Callable[[], Any],
        kind: str = "",
        key: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.lines = lines
        self._read = read
        self._kind = kind
        self.is_name = key is None
        self._owner: Any = UNDEFINED
        if key is not None:
            # Owner and key are those before the branches, which do not change them.
            with suppress(NameError, AttributeError):
                self._key, self._owner = key(), read()

    def get(self) -> Any:
        """The value there, or UNDEFINED."""
        try:
            if self.is_name:
                value = self._read()
                return UNDEFINED if isinstance(value, Unusable) and value.undefined else value
            if self._owner is not UNDEFINED:
                return _READ[self._kind](self._owner, self._key)
        except (NameError, AttributeError, LookupError):
            pass
        return UNDEFINED

    def put(self, value: Any) -> None:
        """Write to an attribute or item; variables are assigned where they are."""
        if self.is_name or self._owner is UNDEFINED:
            return
        if value is not UNDEFINED:
            _WRITE[self._kind](self._owner, self._key, value)
        elif self.get() is not UNDEFINED:
            _DELETE[self._kind](self._owner, self._key)
