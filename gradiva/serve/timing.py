"""How long batches take and how often requests arrive, and what follows: whether to wait for more
requests, and when a request will be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

__all__ = ["Arrivals", "BatchTimes", "Lateness", "pause", "time_until_done"]

_DECAY: Final = 0.9
"""The weight of a measurement falls to this part with each batch that follows."""
_PRIOR: Final = 0.02
"""The weight of the assumption that a batch of no samples takes no time, which counts while all
batches have had one size."""
_SURE: Final = 8
"""From so many measurements on, one counts as `_MOST` times the expected time at most: a program
that was stopped for a minute does not refuse requests for the next one."""
_MOST: Final = 4.0
_STEP: Final = 0.02
"""What one request counts among all before it."""
_GAPS: Final = 16
_PATIENCE: Final = 3.0
"""After so many usual gaps without a request, no more of them are expected."""


class BatchTimes:
    """The seconds that a batch of n samples takes: `fixed + each * n`, fitted to what was measured,
    of which the last ten batches or so count."""

    def __init__(self) -> None:
        self.measured = 0
        self.fixed = 0.0
        self.each = 0.0
        self._weight = self._n = self._t = self._nn = self._nt = 0.0

    def add(self, size: int, seconds: float) -> None:
        """A batch of `size` samples took so many seconds."""
        if self.measured >= _SURE:
            seconds = min(seconds, _MOST * self.seconds(size))
        self.measured += 1
        self._weight = self._weight * _DECAY + 1
        self._n = self._n * _DECAY + size
        self._t = self._t * _DECAY + seconds
        self._nn = self._nn * _DECAY + size * size
        self._nt = self._nt * _DECAY + size * seconds
        self._fit()

    def _fit(self) -> None:
        weight = self._weight + _PRIOR
        each = (weight * self._nt - self._n * self._t) / (weight * self._nn - self._n**2)
        fixed = (self._t - each * self._n) / weight
        if each < 0:
            each, fixed = 0.0, self._t / self._weight
        elif fixed < 0:
            each, fixed = self._nt / self._nn, 0.0
        self.each, self.fixed = each, fixed

    def seconds(self, size: int) -> float:
        """The expected time of a batch; 0 while nothing was measured."""
        return self.fixed + self.each * size


class Lateness:
    """How much later than predicted requests were done: `margin`, in seconds, is what few exceed.
    It is what predictions from the times of batches alone leave out: other threads, the
    interpreter's lock, requests of other types."""

    def __init__(self) -> None:
        self._mean = self._deviation = 0.0

    def add(self, predicted: float, seconds: float) -> None:
        """A request took so long. One that took more than twice the predicted time counts as
        twice."""
        off = min(seconds - predicted, predicted)
        distance = abs(off - self._mean)
        self._mean += _STEP * (off - self._mean)
        self._deviation += _STEP * (distance - self._deviation)

    @property
    def margin(self) -> float:
        """What is added to predictions."""
        return max(0.0, self._mean + 2 * self._deviation)


class Arrivals:
    """When requests have arrived."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_GAPS + 1)

    def add(self, now: float) -> None:
        """A request has arrived."""
        self._times.append(now)

    @property
    def last(self) -> float:
        """The time of the last request."""
        return self._times[-1]

    def gap(self) -> float | None:
        """The usual time between two requests: the median of the last gaps. None before the second
        request. Bursts with pauses between them have the gap of the bursts."""
        gaps = sorted(after - before for before, after in pairwise(self._times))
        return gaps[len(gaps) // 2] if gaps else None


def pause(
    queued: int,
    oldest: float,
    now: float,
    most: int,
    delay: float,
    adaptive: bool,
    times: BatchTimes,
    arrivals: Arrivals,
) -> float:
    """How long to wait for more requests before `queued` of them run, in seconds; 0 for not.

    oldest: when the first of them arrived. most, delay: the limits of a batch and of the wait. If
    adaptive, there is a wait only if it makes n queued requests and the next one, n + 1 in all,
    faster on average: they all take `gap + each` longer, and the next one, which otherwise runs in
    a batch of its own, saves `fixed + each`.
    """
    left = oldest + delay - now
    if queued >= most or left <= 0:
        return 0.0
    if not adaptive:
        return left
    gap = arrivals.gap()
    if gap is None or not times.measured:
        return 0.0
    if (queued + 1) * (gap + times.each) >= times.fixed + times.each:
        return 0.0
    return max(0.0, min(left, arrivals.last + _PATIENCE * gap - now))


def time_until_done(
    queued: int,
    running: Sequence[tuple[int, float]],
    runners: int,
    most: int,
    now: float,
    times: BatchTimes,
    delay: float = 0.0,
) -> float | None:
    """The seconds until a request is done that arrives now behind `queued` others; None while no
    batch was measured.

    running: size and begin of the batches that run. delay: how long a batch that is not full waits.
    A batch that takes longer than expected is assumed to take as long again as it is late.
    """
    if not times.measured:
        return None
    free = [abs(begin + times.seconds(size) - now) for size, begin in running]
    free = sorted(free + [0.0] * (runners - len(free)))
    before, rest = divmod(queued, most)
    begin = free[before % runners] + before // runners * times.seconds(most)
    if rest + 1 < most:
        begin = max(begin, delay)
    return begin + times.seconds(rest + 1)
