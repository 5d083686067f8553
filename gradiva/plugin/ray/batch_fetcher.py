"""`BatchFetcher`: requests batches from loaders ahead of time, and delivers them in order.

It keeps no batch alive that is no longer needed, and does not depend on any one loader: if a loader
does not answer, another one is asked, and the bits are the same. A `Transport` says how loaders are
reached.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.ops.readers.core.source import EpochPart

from .cluster import error_to_repeat
from .loaded_batch import LoadedBatch

__all__ = ["BatchFetcher", "LoaderLostError", "Transport", "Waits"]

_KNOWN = 32
"""The number of batches from which the usual time of a batch is estimated."""


class LoaderLostError(Exception):
    """The loader is gone, and its requests are lost."""


class Transport(Protocol):
    """How loaders are reached. Loaders are identified by numbers."""

    def loaders(self) -> Sequence[int]:
        """The loaders that are available now."""

    def ask(self, loader: int, part: EpochPart) -> Hashable:
        """Request a batch, and return a ticket for it. Does not wait."""

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until one or more of these tickets are ready, for at most this many seconds. Returns
        which."""

    def take(self, ticket: Hashable) -> LoadedBatch:
        """The answer for a ticket. Raises LoaderLostError, after which the loader is not among
        `loaders` until it is available again; GradivaError for an error that a retry cannot fix."""

    def hopeless(self) -> str | None:
        """Why no loader will become available again; None if one may."""

    def now(self) -> float:
        """A monotonic time in seconds."""


@dataclass
class Waits:
    """What a trainer has measured. waited: the seconds that it has waited; resent: batches that
    were requested again because a loader was lost; doubled: because it was slow; loaders: batches
    and samples of each loader."""

    batches: int = 0
    samples: int = 0
    bytes: int = 0
    waited: float = 0.0
    resent: int = 0
    doubled: int = 0
    loaders: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _RequestedBatch:
    """A batch that has been requested. asked: the loaders that are working on it; lost: how many
    loaders have died while they worked on it."""

    part: EpochPart
    asked: dict[Hashable, int] = field(default_factory=dict)
    since: float = 0.0
    made: LoadedBatch | None = None
    lost: int = 0


class BatchFetcher:
    """The batches of `parts`, in order.

    ahead: the largest number of open requests; it may be changed. max_bytes: the most bytes that
    these may have together, as estimated from earlier batches, but at least one batch. timeout:
    seconds after which a missing batch is an error. hedge_factor: a second loader is asked for a
    batch that takes this many times longer than usual; None for never. deaths: the number of lost
    loaders after which a batch is an error. turn: the loader to begin with, so that not all
    trainers begin with the first. waits: where to add the measurements.
    """

    def __init__(
        self,
        transport: Transport,
        parts: Iterator[EpochPart],
        ahead: int,
        max_bytes: int | None = None,
        timeout: float = 600.0,
        hedge_factor: float | None = 3.0,
        deaths: int = 5,
        turn: int = 0,
        waits: Waits | None = None,
    ) -> None:
        self._transport = transport
        self._parts = parts
        self.ahead = ahead
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._hedge_factor = hedge_factor
        self._deaths = deaths
        self._turn = turn
        self.waits = Waits() if waits is None else waits
        self._window: deque[_RequestedBatch] = deque()
        self._strays: dict[Hashable, int] = {}
        """Answers that are no longer needed; their loaders are still busy with them."""
        self._largest: int | None = None
        self._took: deque[float] = deque(maxlen=_KNOWN)

    def __iter__(self) -> Iterator[LoadedBatch]:
        return self

    def __next__(self) -> LoadedBatch:
        """The next batch, or its error, as `LoadedBatch`. Raises StopIteration at the end;
        OperatorRuntimeError if no loader makes it, after which the same batch is requested again,
        as the attribute `again` says, unless the batch kills loaders."""
        self._fill()
        if not self._window:
            raise StopIteration
        head = self._window[0]
        began = self._transport.now()
        try:
            while head.made is None:
                self._wait(head, began)
        except GradivaError as error:
            if not getattr(error, "again", False):
                self._forget(self._window.popleft())
            raise
        finally:
            self.waits.waited += self._transport.now() - began
        self._window.popleft()
        made = head.made
        self.waits.batches += 1
        self.waits.samples += made.samples if made.error is None else 0
        self.waits.bytes += made.nbytes
        self._fill()  # keeps the loaders busy while the trainer computes
        return made

    def begin(self) -> None:
        """Request the first batches, without waiting."""
        self._fill()

    def _room(self) -> bool:
        """Whether one more batch may be requested."""
        waiting = len(self._window)
        if waiting == 0 or self._max_bytes is None:
            return waiting < self.ahead
        if self._largest is None:
            return False
        return waiting < self.ahead and (waiting + 1) * self._largest <= self._max_bytes

    def _fill(self) -> None:
        while self._room():
            part = next(self._parts, None)
            if part is None:
                return
            wanted = _RequestedBatch(part)
            self._window.append(wanted)
            self._ask(wanted)

    def _ask(self, wanted: _RequestedBatch) -> bool:
        """Ask the loader with the least work, among those that are not working on it already.
        Returns False if there is none."""
        there = self._transport.loaders()
        busy = Counter(self._strays.values())
        busy.update(self._asked().values())
        chosen = None
        for number in range(len(there)):
            loader = there[(self._turn + number) % len(there)]
            if loader in wanted.asked.values():
                continue
            if chosen is None or busy[loader] < busy[chosen]:
                chosen = loader
            if not busy[chosen]:
                break
        if chosen is None:
            return False
        self._turn += 1
        wanted.asked[self._transport.ask(chosen, wanted.part)] = chosen
        wanted.since = self._transport.now()
        return True

    def _asked(self) -> dict[Hashable, int]:
        return {ticket: at for wanted in self._window for ticket, at in wanted.asked.items()}

    def _wait(self, head: _RequestedBatch, began: float) -> None:
        """Wait for any answer, and handle timeouts and lost loaders meanwhile."""
        for wanted in self._window:
            if wanted.made is None and not wanted.asked and wanted.lost < self._deaths:
                self._ask(wanted)
        now = self._transport.now()
        self._give_up(head, began, now)
        until = min(began + self._timeout, now + 1.0)
        slow = self._slow_at(head)
        if slow is not None and slow <= now:
            # It may be there already: time also passes while the trainer computes.
            answers = self._transport.wait([*head.asked], 0.0)
            if answers:
                self._arrived(answers[0])
                return
            if self._ask(head):
                self.waits.doubled += 1
            slow = None
        until = until if slow is None else min(until, slow)
        tickets = [*self._asked(), *self._strays]
        for ticket in self._transport.wait(tickets, max(0.0, until - now)):
            self._arrived(ticket)

    def _give_up(self, head: _RequestedBatch, began: float, now: float) -> None:
        """Raise OperatorRuntimeError if the batch will not come."""
        what = f"the samples {head.part.start} to {head.part.stop - 1} of epoch {head.part.epoch}"
        if head.lost >= self._deaths:
            raise OperatorRuntimeError(
                f"{head.lost} loaders died, one after the other, while they made {what}: this "
                "batch is left out"
            )
        if not head.asked:
            why = self._transport.hopeless()
            if why is not None:
                raise error_to_repeat(f"no loader is left to make {what}: {why}")
        if now - began >= self._timeout:
            at = sorted(set(head.asked.values()))
            who = f"loaders {at} are at it" if at else "all loaders are lost, and none came back"
            raise error_to_repeat(
                f"{what} were waited for, for {self._timeout:g} seconds (`timeout`): {who}"
            )

    def _slow_at(self, head: _RequestedBatch) -> float | None:
        """The time at which another loader is to be asked; None for never."""
        if self._hedge_factor is None or len(head.asked) != 1 or len(self._took) < 2:
            return None
        return head.since + self._hedge_factor * median(self._took)

    def _arrived(self, ticket: Hashable) -> None:
        wanted = next((one for one in self._window if ticket in one.asked), None)
        loader = self._strays.pop(ticket, -1) if wanted is None else wanted.asked.pop(ticket)
        try:
            made = self._transport.take(ticket)
        except LoaderLostError:
            if wanted is not None and wanted.made is None:
                wanted.lost += 1
                self.waits.resent += 1
                if wanted.lost < self._deaths and not wanted.asked:
                    self._ask(wanted)
            return
        except GradivaError as error:
            made = LoadedBatch(error=error)
        if wanted is None or wanted.made is not None:
            return
        wanted.made = made
        self._forget(wanted)
        self._took.append(self._transport.now() - wanted.since)
        self._largest = max(self._largest or 0, made.nbytes)
        batches, samples = self.waits.loaders.get(loader, (0, 0))
        count = samples + (made.samples if made.error is None else 0)
        self.waits.loaders[loader] = (batches + 1, count)

    def _forget(self, wanted: _RequestedBatch) -> None:
        """The other answers for this batch are no longer needed."""
        self._strays.update(wanted.asked)
        wanted.asked = {}
