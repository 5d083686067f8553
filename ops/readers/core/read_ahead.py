"""What was prefetched from a source, and how it is returned to it."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class SourcePrefetcher(Protocol):
    """Reads a source ahead of a captured loop."""

    def stop(self) -> None:
        """Stop reading, and put the source where the loop is."""

    def place(self) -> Any:
        """The place in the data of the loop."""


class ReadAhead:
    """The prefetcher of a source, if there is one. The next reader of the source pauses it first.

    The source holds it, and not the loop: what was read ahead is taken back when the source is read
    again, also if the loop is gone.
    turn: held by the thread that takes a batch of the source, or gives back what was read ahead.
    ended: how many epochs have come to their end. All loops that were in the last one end with it,
    whichever has come there: no loop delivers samples of two epochs.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self.prefetcher: SourcePrefetcher | None = None
        self.ended = 0

    def pause(self, only: SourcePrefetcher | None = None) -> None:
        """Stop reading ahead, and put the source where its loop is. only: if that reads ahead."""
        if only is not None and self.prefetcher is not only:
            return
        with self.turn:
            running = self.prefetcher
            if running is not None and only in (None, running):
                try:
                    running.stop()
                finally:
                    self.prefetcher = None  # until then it knows the place

    def place(self) -> Any:
        """The place in the data of what was delivered, or None if nothing was read ahead."""
        running = self.prefetcher
        return None if running is None else running.place()
