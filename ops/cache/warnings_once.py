"""Warnings of a store: one for each thing that can be wrong."""

from __future__ import annotations

import threading

from gradiva.eager.support.user_warning import warn_user


class WarningsOnce:
    """Gives the first warning on each topic. Any thread may call it."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, topic: str, text: str) -> None:
        """Warn, if nothing was said of this topic before."""
        with self._lock:
            if topic in self._topics:
                return
            self._topics.add(topic)
        warn_user(
            f"{text}. What is not found there is computed, as without a cache", RuntimeWarning
        )

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()
