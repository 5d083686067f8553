"""A GPU that exists as a record: streams, events, and who may touch what when. Not a test itself.

The device is as slow as it may be: what is given to a stream happens only when the host waits for
it. Every access to a thing (a buffer, a state, the bytes of a file) is compared with the accesses
before it; one that does not come after them for sure, by stream order, by an event or by a wait,
is a race, and is noted in `violations`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Clock = dict[int, int]
"""Up to which operation of each stream something has come."""


def merge(into: Clock, other: Clock) -> None:
    for stream, tick in other.items():
        into[stream] = max(into.get(stream, 0), tick)


class FakeGpu:
    """Fulfills the protocol `Runtime`."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.log: list[tuple[Any, ...]] = []
        self.lock = threading.RLock()
        self.host: Clock = {}
        """What the host knows to be done."""
        self.streams: dict[int, Clock] = {}
        self.ticks: dict[int, int] = {}
        self.events: dict[int, Clock] = {}
        self.last: dict[Any, Clock] = {}
        """The accesses of each thing, by the device, that nothing is known to follow yet."""
        self.numbers = iter(range(10**12, 2 * 10**12))  # no size or length is so large
        self.local = threading.local()
        self.broken = False

    def wrong(self, text: str) -> None:
        self.violations.append(text)

    # The protocol.

    def activate(self) -> None:
        self.local.active = True

    def check_active(self, what: str) -> None:
        if not getattr(self.local, "active", False):
            self.wrong(f"{what} in a thread whose device was not set")

    def create_stream(self) -> int:
        with self.lock:
            stream = next(self.numbers)
            self.streams[stream], self.ticks[stream] = {}, 0
            return stream

    def destroy_stream(self, stream: int) -> None:
        with self.lock:
            if self.host.get(stream, 0) < self.ticks[stream]:
                self.wrong(f"stream {stream} destroyed with work under way")
            del self.streams[stream]

    def create_event(self) -> int:
        with self.lock:
            event = next(self.numbers)
            self.events[event] = {}
            return event

    def destroy_event(self, event: int) -> None:
        with self.lock:
            del self.events[event]

    def record(self, event: int, stream: int) -> None:
        with self.lock:
            self.log.append(("record", event, stream))
            clock = dict(self.streams[stream])
            clock[stream] = self.ticks[stream]
            self.events[event] = clock

    def wait(self, event: int) -> None:
        with self.lock:
            self.log.append(("wait", event))
            if self.broken:
                raise RuntimeError("the context is broken")
            merge(self.host, self.events[event])

    def stream_wait(self, stream: int, event: int) -> None:
        with self.lock:
            self.log.append(("stream_wait", stream, event))
            merge(self.streams[stream], self.events[event])

    # What the fake library and the tests say of their accesses.

    def give(self, stream: int, work: Callable[[], None]) -> None:
        """Have a stream do this when it comes to it. Here: at once, though nobody may know."""
        work()

    def on_device(self, stream: int, what: str, *things: Any, reads: Any = None) -> None:
        """An operation given to a stream, which touches these things, and reads one that nobody
        writes."""
        with self.lock:
            clock = self.streams[stream]
            merge(clock, self.host)
            for thing in things:
                self._after(thing, clock | {stream: self.ticks[stream]}, what)
            self.ticks[stream] += 1
            clock[stream] = self.ticks[stream]
            for thing in (*things, reads):
                self.last.setdefault(thing, {})[stream] = self.ticks[stream]

    def on_host(self, what: str, *things: Any) -> None:
        """The host touches these things now."""
        with self.lock:
            for thing in things:
                self._after(thing, self.host, what)

    def _after(self, thing: Any, clock: Clock, what: str) -> None:
        for stream, tick in self.last.get(thing, {}).items():
            if clock.get(stream, 0) < tick:
                self.wrong(f"{what} touches {thing} while stream {stream} may be at it")

    def pending(self, thing: Any) -> bool:
        """Whether the device may still be at it, as far as the host knows."""
        with self.lock:
            last = self.last.get(thing, {})
            return any(self.host.get(stream, 0) < tick for stream, tick in last.items())


class Exclusive:
    """Notes when two threads are inside at once."""

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu = gpu
        self.inside: dict[Any, int] = {}

    @contextmanager
    def use(self, what: str, *things: Any) -> Iterator[None]:
        me = threading.get_ident()
        with self.gpu.lock:
            for thing in things:
                if self.inside.setdefault(thing, me) != me:
                    self.gpu.wrong(f"{what}: {thing} is in use by another thread")
        try:
            yield
        finally:
            with self.gpu.lock:
                for thing in things:
                    self.inside.pop(thing, None)
