"""Loaders that are simulated: plans only, and a clock that stands still while nothing happens."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Hashable, Sequence

import numpy as np

from gradiva.ops.readers.core.source import EpochPart
from gradiva.plugin.ray.batch_fetcher import LoaderLostError
from gradiva.plugin.ray.loaded_batch import Column, LoadedBatch

__all__ = ["Machines", "Simulated", "places_of"]


class Machines:
    """Loaders, the clock that they share, and what happens when.

    deaths: how often an answer is the death of its loader, which comes back after `pause` seconds,
    or never (None). slow: loaders that take a hundred times longer. fatal: places whose batch kills
    each loader.
    """

    def __init__(
        self,
        count: int,
        seed: int = 0,
        deaths: float = 0.0,
        pause: float | None = 5.0,
        slow: Sequence[int] = (),
        fatal: Sequence[int] = (),
    ) -> None:
        self.time = 0.0
        self.alive = list(range(count))
        self.asked = 0
        self.died = 0
        self.answered = [0] * count
        self.drawn = random.Random(seed)
        self.deaths, self.pause = deaths, pause
        self.slow, self.fatal = set(slow), set(fatal)
        self.free_at = [0.0] * count
        self.lives = [0] * count
        self.coming: list[tuple[float, int]] = []

    def back(self) -> None:
        """Let loaders come back whose time it is."""
        while self.coming and self.coming[0][0] <= self.time:
            self.alive.append(heapq.heappop(self.coming)[1])

    def kill(self, loader: int) -> None:
        """A loader dies, and all that it was asked for."""
        if loader in self.alive:
            self.alive.remove(loader)
            self.lives[loader] += 1
            self.died += 1
            self.free_at[loader] = self.time
            if self.pause is not None:
                heapq.heappush(self.coming, (self.time + self.pause, loader))


class Simulated:
    """What one trainer sees of these machines; a `Transport`."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self._numbers = itertools.count()
        self._open: dict[Hashable, tuple[float, int, int, EpochPart]] = {}

    def loaders(self) -> Sequence[int]:
        self.machines.back()
        return self.machines.alive

    def ask(self, loader: int, part: EpochPart) -> Hashable:
        machines, ticket = self.machines, next(self._numbers)
        takes = machines.drawn.uniform(0.5, 1.5) * (100 if loader in machines.slow else 1)
        done = max(machines.time, machines.free_at[loader]) + takes
        machines.free_at[loader] = done
        machines.asked += 1
        self._open[ticket] = (done, loader, machines.lives[loader], part)
        return ticket

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        machines = self.machines
        until = machines.time + seconds
        first = min((self._end(ticket) for ticket in tickets), default=until)
        machines.time = max(machines.time, min(first, until))
        machines.back()
        return [ticket for ticket in tickets if self._end(ticket) <= machines.time]

    def _end(self, ticket: Hashable) -> float:
        """When there is an answer: at once, if the loader has died meanwhile."""
        done, loader, life, _ = self._open[ticket]
        return done if self.machines.lives[loader] == life else 0.0

    def take(self, ticket: Hashable) -> LoadedBatch:
        machines = self.machines
        _, loader, life, part = self._open.pop(ticket)
        if machines.lives[loader] != life:
            raise LoaderLostError
        fatal = any(part.start <= place < part.stop for place in machines.fatal)
        if fatal or machines.drawn.random() < machines.deaths:
            machines.kill(loader)
            raise LoaderLostError
        machines.answered[loader] += 1
        places = np.arange(part.start, part.stop, dtype=np.int64)
        return LoadedBatch((Column(places, None, ""),), places)

    def hopeless(self) -> str | None:
        gone = not self.machines.alive and not self.machines.coming
        return "all machines are gone" if gone else None

    def now(self) -> float:
        return self.machines.time


def places_of(made: LoadedBatch) -> list[int]:
    """The places in the epoch that a simulated batch stands for."""
    found: list[int] = made.columns[0].data.tolist()
    return found
