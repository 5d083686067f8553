"""`RayTransport`: loaders as Ray actors, which are called by the trainers themselves."""

from __future__ import annotations

import time
import weakref
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gradiva.ops.readers.core.source import EpochPart

from .batch_fetcher import LoaderLostError
from .cluster import cluster_errors, errors, ray, summary
from .loaded_batch import LoadedBatch
from .shared_memory import importer

__all__ = ["RayTransport"]

_AGAIN = 0.5
"""Seconds until a loader that does not answer is called once more."""
_LEAST = 0.01


_MISSING = 3
"""How often memory may be gone, until no more is imported."""


class _LoaderRequest(NamedTuple):
    """A request: to which loader, its key, and the number by which it is known there; None for one
    that has none."""

    loader: int
    key: str
    number: int | None

    def forget(self) -> None:
        """Nothing is needed of the answer."""
        if self.number is not None:
            importer().forget(self.key, self.number)


def _forget(asked: dict[Any, _LoaderRequest]) -> None:
    for one in asked.values():
        one.forget()
    asked.clear()


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
        self._asked: dict[Any, _LoaderRequest] = {}
        self._shares = self._imports = share_memory
        """Whether batches may be imported, and still are."""
        self._missing = 0
        weakref.finalize(self, _forget, self._asked).atexit = False

    def change(self, loaders: dict[int, Any]) -> None:
        """These are the loaders from now on."""
        unknown = {*self._calls.values(), *self._later, *self._dead}
        self._all = dict(loaders)
        self._there = sorted(one for one in loaders if one not in unknown)

    def forget(self) -> None:
        """Nobody waits for what was asked for so far."""
        _forget(self._asked)

    def close(self) -> None:
        """Nothing more is asked for: loaders can have back what is not in use."""
        self.forget()
        for loader, handle in self._all.items():
            key = self._key(loader)
            if self._shares and importer().waits_for(key):
                with suppress(errors.RayError):
                    handle.take_back.remote(importer().request(key, share=False))

    def _key(self, loader: int) -> str:
        """What a loader has in common for all that ask it."""
        handle = self._all[loader]
        return str(getattr(handle, "_actor_id", None) or id(handle))

    def loaders(self) -> Sequence[int]:
        if self._calls or self._later:
            self._call_again()
        return self._there

    def ask(self, loader: int, part: EpochPart) -> Hashable:
        key = self._key(loader)
        reader = importer().request(key, self._imports) if self._shares else None
        asked = _LoaderRequest(loader, key, None if reader is None else reader.number)
        try:
            with cluster_errors("asking a loader for a batch"):
                ticket = self._all[loader].make.remote(part, self._digest, reader)
        except BaseException:
            if reader is not None:
                importer().forget(key, *reader.done)
            raise
        self._asked[ticket] = asked
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
        asked = self._asked.pop(ticket)
        try:
            return self._taken(ticket, asked)
        except BaseException:
            asked.forget()
            raise

    def _taken(self, ticket: Hashable, asked: _LoaderRequest) -> LoadedBatch:
        with cluster_errors("taking a batch from a loader"):
            try:
                made: LoadedBatch = ray.get(ticket)
            except _lost() as error:
                self._lose(asked.loader)
                raise LoaderLostError from error
        if asked.number is None:
            return made
        try:
            return importer().take(made, asked.key, asked.number)
        except OSError as error:  # it has died meanwhile, or its memory is closed to us
            self._missing += 1
            self._imports = isinstance(error, FileNotFoundError) and self._missing < _MISSING
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
