"""`Ahead`: a loop over an iterator whose items a thread makes ahead."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

__all__ = ["Ahead"]


class Ahead(Iterator[Any]):
    """The items of an iterator, each passed through `prepare`, up to `depth` of them made ahead by
    a thread. An error of `prepare` comes in the place of its item, and the loop goes on after it;
    an error of the iterator ends it."""

    def __init__(self, items: Iterator[Any], prepare: Callable[[Any], Any], depth: int) -> None:
        self._results: SimpleQueue[tuple[Any, BaseException | None, bool]] = SimpleQueue()
        self._permits: SimpleQueue[None] = SimpleQueue()
        self._ended = False
        ending: list[bool] = []
        work = (items, prepare, self._permits, ending, self._results)
        self._thread = threading.Thread(target=_work, args=work, daemon=True)
        # Neither waits nor takes a lock: a queue of this kind may be filled by a finalizer.
        self._finish = weakref.finalize(self, _end, ending, self._permits)
        for _ in range(depth):
            self._permits.put(None)
        self._thread.start()

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        item, error, last = self._results.get()
        self._ended = last
        self._permits.put(None)
        if error is not None:
            raise error
        return item

    def close(self) -> None:
        """End the loop, and wait for the thread."""
        self._finish()
        self._thread.join()
        # What waits in `__next__`, in another thread, is told.
        self._results.put((None, StopIteration(), True))


def _end(ending: list[bool], permits: SimpleQueue[None]) -> None:
    ending.append(True)
    permits.put(None)


def _work(
    items: Iterator[Any],
    prepare: Callable[[Any], Any],
    permits: SimpleQueue[None],
    ending: list[bool],
    results: SimpleQueue[tuple[Any, BaseException | None, bool]],
) -> None:
    while True:
        permits.get()
        if ending:
            return
        try:
            item = next(items)
        except BaseException as error:  # noqa: BLE001  it is raised where the item is wanted
            results.put((None, error, True))
            return
        try:
            results.put((prepare(item), None, False))
        except BaseException as error:  # noqa: BLE001  as above
            results.put((None, error, False))
        del item
