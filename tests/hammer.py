"""Many threads that do the same at once, and switch as often as they can. Not a test itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["THREADS", "hammer"]

T = TypeVar("T")

THREADS = 8
_WITHIN = 60


def hammer(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """What `work(number)` returns in each of some threads, which begin together. Raises the error
    of the first one that has failed."""
    made: dict[int, T] = {}
    errors: list[BaseException] = []
    together = threading.Barrier(threads)

    def run(number: int) -> None:
        try:
            together.wait(_WITHIN)
            made[number] = work(number)
        except BaseException as error:  # noqa: BLE001  raised below
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        running = [
            threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(_WITHIN)
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]
    assert len(made) == threads, "a thread does not end"
    return [made[number] for number in range(threads)]
