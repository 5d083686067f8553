"""`RayTransport`: loaders as Ray actors, which are called by the trainers themselves."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import Any

from gradiva.capture.loaders.delivery import LoaderLostError
from gradiva.capture.loaders.loaded_batch import LoadedBatch
from gradiva.capture.loaders.shared_memory import importer
from gradiva.eager.readers.source import Part

from .cluster import cluster_errors, errors, ray, summary

__all__ = ["RayTransport"]

_AGAIN = 0.5
"""Seconds until a loader that does not answer is called once more."""
_LEAST = 0.01


class RayTransport:
    """The loaders of a pool, by their numbers; a `Transport`. A loader that was lost is called
    until it answers, and gets no requests meanwhile. share_memory: whether loaders of this
    machine may leave batches where they are."""

    def __init__(self, loaders: dict[int, Any], digest: str, share_memory: bool = True) -> None:
        self._all = dict(loaders)
        self._digest = digest
        self._there = sorted(loaders)
        self._calls: dict[Any, int] = {}
        """Answers of lost loaders that are awaited."""
        self._later: dict[int, float] = {}
        """When to call them again."""
        self._dead: dict[int, str] = {}
        self._asked: dict[Any, tuple[int, int]] = {}
        """Which loader, and the number of the request; -1 for one that has none."""
        self._imports = share_memory
        self._exporters: dict[int, str] = {}
        """By which names loaders export."""
        self._forgotten: dict[int, list[int]] = {}

    def change(self, loaders: dict[int, Any]) -> None:
        """These are the loaders from now on."""
        unknown = {*self._calls.values(), *self._later, *self._dead}
        self._all = dict(loaders)
        self._there = sorted(one for one in loaders if one not in unknown)

    def forget(self) -> None:
        """Nobody waits for what was asked for so far."""
        for loader, number in self._asked.values():
            self._forgotten.setdefault(loader, []).append(number)
        self._asked.clear()

    def loaders(self) -> Sequence[int]:
        if self._calls or self._later:
            self._call_again()
        return self._there

    def ask(self, loader: int, part: Part) -> Hashable:
        reader = None
        if self._imports:
            forgotten = self._forgotten.pop(loader, ())
            reader = importer().request(self._exporters.get(loader, ""), forgotten)
        with cluster_errors("asking a loader for a batch"):
            ticket = self._all[loader].make.remote(part, self._digest, reader)
        self._asked[ticket] = loader, -1 if reader is None else reader.number
        return ticket  # type: ignore[no-any-return]

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        until = time.monotonic() + seconds
        if self._later:
            until = min(until, *self._later.values())
        left = max(_LEAST, until - time.monotonic())
        waited = [*tickets, *self._calls]
        if not waited:
            time.sleep(left)
            return ()
        with cluster_errors("waiting for loaders"):
            done, _ = ray.wait(waited, num_returns=1, timeout=left)
        if any(one in self._calls for one in done):  # else it would be waited for in vain again
            self._call_again()
        return [one for one in done if one in self._asked]

    def take(self, ticket: Hashable) -> LoadedBatch:
        loader, number = self._asked.pop(ticket)
        with cluster_errors("taking a batch from a loader"):
            try:
                made: LoadedBatch = ray.get(ticket)
            except _lost() as error:
                self._lose(loader)
                raise LoaderLostError from error
        if not made.exporter:
            return made
        self._exporters[loader] = made.exporter
        try:
            return importer().take(made, number)
        except OSError as error:  # it has died meanwhile, or its memory is closed to us
            self._imports = isinstance(error, FileNotFoundError)
            self._forgotten.setdefault(loader, []).append(number)
            raise LoaderLostError from error

    def hopeless(self) -> str | None:
        if self._there or self._calls or self._later:
            return None
        why = next(iter(self._dead.values()), "the pool has no loaders")
        return f"{why} (all {len(self._dead)} loaders are dead)" if self._dead else why

    def now(self) -> float:
        return time.monotonic()

    def _lose(self, loader: int) -> None:
        """It gets no requests until it answers."""
        if loader in self._there:
            self._there.remove(loader)
            self._later[loader] = 0.0

    def _call_again(self) -> None:
        now = time.monotonic()
        for loader in [one for one, when in self._later.items() if when <= now]:
            del self._later[loader]
            if loader in self._all:
                self._calls[self._all[loader].process.remote()] = loader
        if not self._calls:
            return
        done, _ = ray.wait([*self._calls], num_returns=len(self._calls), timeout=0)
        for call in done:
            loader = self._calls.pop(call)
            try:
                ray.get(call)
            except errors.ActorDiedError as error:
                self._dead[loader] = summary(error)
            except errors.RayError:
                self._later[loader] = now + _AGAIN
            else:
                if loader in self._all:
                    self._there = sorted([*self._there, loader])


def _lost() -> tuple[type[BaseException], ...]:
    """What Ray raises for a batch that its loader cannot deliver any more."""
    return (
        errors.RayActorError,
        errors.ObjectLostError,
        errors.WorkerCrashedError,
        errors.NodeDiedError,
        errors.ObjectFetchTimedOutError,
    )
