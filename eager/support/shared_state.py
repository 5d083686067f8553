"""State that several threads share: objects that exist, and the order in which they were made."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Generic, TypeVar

__all__ = ["LiveObjects", "SerialNumbers"]

T = TypeVar("T")


class LiveObjects(Generic[T]):
    """Weak references to objects. Any thread may add some, or hold the last reference to one, while
    another thread goes through them: a loop over a `WeakSet` would then raise RuntimeError."""

    def __init__(self) -> None:
        self._kept: weakref.WeakKeyDictionary[T, None] = weakref.WeakKeyDictionary()

    def add(self, one: T) -> None:
        """Add an object, which stays as long as somebody refers to it."""
        self._kept[one] = None

    def discard(self, one: T) -> None:
        """Remove an object, if it is there."""
        self._kept.pop(one, None)

    def members(self) -> list[T]:
        """The objects that exist now."""
        # One call makes the list of references; it is atomic.
        found = (reference() for reference in self._kept.keyrefs())
        return [one for one in found if one is not None]


class SerialNumbers:
    """Counts from 0. No number is given twice: in free-threaded Python, threads that share an
    `itertools.count` could get the same one. For objects that live as long as the process."""

    def __init__(self) -> None:
        self._next = 0
        self._after_fork()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self._lock = threading.RLock()

    def take(self) -> int:
        """The next number."""
        with self._lock:
            number = self._next
            self._next = number + 1
            return number
