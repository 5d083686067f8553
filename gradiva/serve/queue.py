"""The requests that wait for a batch, in order. The engine calls everything under its lock."""

from __future__ import annotations

import threading
from collections import OrderedDict

from .requests import Request
from .timing import BatchTimes

__all__ = ["RequestQueue"]


class RequestQueue:
    """A queue of at most `most` requests, and those that wait for a place in it. Its length is the
    number of both."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: OrderedDict[int, Request] = OrderedDict()
        self._outside: OrderedDict[int, Request] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queue) + len(self._outside)

    @property
    def full(self) -> bool:
        """Whether there is no place for another request."""
        return len(self._queue) >= self._most

    @property
    def oldest(self) -> Request:
        """The request that has waited longest."""
        return next(iter(self._queue.values()))

    def put(self, request: Request, waits: bool) -> None:
        """Add a request. If there is no place for it and `waits`, `admitted` is set once there
        is."""
        if self.full:
            request.admitted = threading.Event() if waits else None
            self._outside[request.number] = request
        else:
            self._queue[request.number] = request

    def remove(self, number: int) -> Request | None:
        """Remove a request, and return it if it was here."""
        request = self._queue.pop(number, None) or self._outside.pop(number, None)
        if request is not None:
            self._admit()
        return request

    def clear(self) -> list[Request]:
        """Remove all requests, and return them."""
        left = [*self._queue.values(), *self._outside.values()]
        self._queue.clear()
        self._outside.clear()
        for request in left:
            if request.admitted is not None:
                request.admitted.set()
        return left

    def take(
        self,
        most: int,
        now: float,
        times: BatchTimes,
        expired: list[Request],
        canceled: list[Request],
    ) -> list[Request]:
        """Remove the next batch: at most `most` requests of the type of the oldest one.

        expired, canceled: get the requests that are found on the way and do not run. A request that
        its batch would make too late is expired, too, so that others are not late because of it;
        but one of these runs if nothing else does, since the times may be out of date.
        """
        batch: list[Request] = []
        hopeless: list[Request] = []
        kind = self.oldest.kind
        for number, request in list(self._queue.items()):
            deadline = request.deadline
            if deadline is not None and deadline < now:
                del self._queue[number]
                expired.append(request)
            elif request.kind == kind:
                del self._queue[number]
                if deadline is not None and deadline < now + times.seconds(len(batch) + 1):
                    hopeless.append(request)
                    continue
                _start(request, batch, canceled)
                if len(batch) == most:
                    break
        while hopeless and not batch:
            _start(hopeless.pop(), batch, canceled)
        expired += hopeless
        self._admit()
        return batch

    def _admit(self) -> None:
        """Move requests into the queue for which there is a place now."""
        while self._outside and not self.full:
            number, request = self._outside.popitem(last=False)
            self._queue[number] = request
            if request.admitted is not None:
                request.admitted.set()


def _start(request: Request, batch: list[Request], canceled: list[Request]) -> None:
    """Put a request into a batch, if it was not canceled."""
    (batch if request.future.set_running_or_notify_cancel() else canceled).append(request)
