"""`Forecast`: what a batcher expects of batches and requests, by what it has seen of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from .requests import Request
from .timing import Arrivals, BatchTimes, Lateness, pause, time_until_done

__all__ = ["Forecast"]

_RECENT: Final = 8
_FEW: Final = 2
"""The number of batches whose times are looked at, and the least that say something."""
_FRESH: Final = 1.0
"""Seconds after which a batch may take another time."""


class Forecast:
    """The times of batches, the gaps between requests and how late these were, and the predictions
    that follow. Everything is called under the lock of the engine. delay: in seconds."""

    def __init__(self, max_batch: int, delay: float, adaptive: bool, runners: int) -> None:
        self.times = BatchTimes()
        self._arrivals = Arrivals()
        self._lateness = Lateness()
        self._last = 0.0
        self._recent: deque[float] = deque(maxlen=_RECENT)
        """The seconds of the last batches; `_last`: when the last of them ended."""
        self._cold = True
        """Whether the first batch is still to come, which loads modules and kernels: its time says
        nothing about others."""
        self._max_batch = max_batch
        self._delay = delay
        self._adaptive = adaptive
        self._runners = runners

    @property
    def margin(self) -> float:
        """What is added to `until_done` for a promise."""
        return self._lateness.margin

    def arrived(self, now: float) -> None:
        """A request has arrived."""
        self._arrivals.add(now)

    def measured(self, size: int, seconds: float, now: float) -> None:
        """A batch took so long, and it was not the first one."""
        self._cold = False
        self.times.add(size, seconds)
        self._last = now
        self._recent.append(seconds)

    def is_impossible(self, seconds: float, now: float) -> bool:
        """Whether none of the last batches would have met a deadline, and the last one ran a short
        time ago. What was slow once, or long ago, is tried again: otherwise nothing would be
        measured any more."""
        return (
            len(self._recent) >= _FEW and min(self._recent) > seconds and now - self._last < _FRESH
        )

    def ran(self, requests: Sequence[Request], began: float, now: float, usual: bool) -> None:
        """The requests of a batch were answered. usual: whether its time says something about
        others: no kernel was compiled."""
        if usual and not self._cold:
            self.measured(len(requests), now - began, now)
            self.learn(requests, now)
        self._cold = False

    def learn(self, requests: Sequence[Request], now: float) -> None:
        """These requests are done now, or could not be done earlier."""
        for request in requests:
            if request.predicted is not None:
                self._lateness.add(request.predicted, now - request.arrived)

    def pause(self, queued: int, oldest: float, now: float) -> float:
        """How long to wait for more requests before the queued ones run, in seconds."""
        return pause(
            queued,
            oldest,
            now,
            self._max_batch,
            self._delay,
            self._adaptive,
            self.times,
            self._arrivals,
        )

    def until_done(
        self, queued: int, running: Sequence[tuple[int, float]], now: float
    ) -> float | None:
        """How long a request takes that arrives now, by the times of batches alone; None if they
        are not known. running: the size and the begin of each batch that runs."""
        delay = 0.0 if self._adaptive else self._delay
        return time_until_done(
            queued, running, self._runners, self._max_batch, now, self.times, delay
        )
