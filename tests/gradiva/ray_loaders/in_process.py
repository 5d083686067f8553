"""Loaders in this process: real pipelines, and a Ray that is played. What they make is pickled, as
on its way; they answer in any order, and die when they are told to."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.ops.readers.core.source import EpochPart
from gradiva.ops.readers.sharding.shard_schedule import ShardSchedule
from gradiva.plugin.ray import LoaderIterator, loader_iterator
from gradiva.plugin.ray.actors import Recipe
from gradiva.plugin.ray.batch_fetcher import LoaderLostError
from gradiva.plugin.ray.batch_producer import BatchProducer
from gradiva.plugin.ray.loaded_batch import LoadedBatch
from gradiva.plugin.ray.loader_options import Settings

from .pipelines import GLOBAL, NAMES, producer

__all__ = ["Loaders"]


class Loaders:
    """Pipelines of their own, by their numbers."""

    def __init__(self, folder: str, count: int, seed: int = 0) -> None:
        self._make = producer(folder)
        self.drawn = random.Random(seed)
        self.makers: dict[int, BatchProducer] = {}
        self.lives: dict[int, int] = dict.fromkeys(range(count), 0)
        for number in range(count):
            self.start(number)

    def start(self, number: int) -> None:
        """Start a loader, or start it again."""
        self.makers[number] = BatchProducer(self._make())

    def kill(self, number: int) -> None:
        """With all that it was asked for."""
        self.makers.pop(number).close()
        self.lives[number] += 1

    def close(self) -> None:
        for one in self.makers.values():
            one.close()

    def iterator(
        self,
        rank: int,
        world: int,
        state: dict[str, Any] | None = None,
        policy: LastBatchPolicy = LastBatchPolicy.FILL,
    ) -> LoaderIterator:
        """What a pool with `global_batch_size` gives to a trainer."""
        recipe = Recipe(self._make, 1, None, 0)
        settings = Settings(NAMES, "numpy", None, None, 60.0, None, None, recipe)
        ledger = SimpleNamespace(report=SimpleNamespace(remote=lambda *said: None))
        facts = next(iter(self.makers.values())).facts()
        schedule = ShardSchedule(
            GLOBAL // world, world, policy, "interleaved", facts.moving, facts.unit
        )
        handles = dict.fromkeys(self.makers, self)
        return LoaderIterator(handles, ledger, facts, schedule, rank, settings, state)


class InProcess:
    """What a trainer has in place of `RayTransport`."""

    def __init__(self, loaders: dict[int, Loaders], digest: str, share_memory: bool) -> None:
        self._loaders = next(iter(loaders.values()))
        self._digest = digest
        self._numbers = itertools.count()
        self._open: dict[Hashable, tuple[int, int, EpochPart]] = {}

    def forget(self) -> None:
        self._open.clear()

    close = forget

    def loaders(self) -> Sequence[int]:
        return sorted(self._loaders.makers)

    def ask(self, loader: int, part: EpochPart) -> Hashable:
        ticket = next(self._numbers)
        self._open[ticket] = loader, self._loaders.lives[loader], part
        return ticket

    def wait(self, tickets: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        return [self._loaders.drawn.choice(tickets[:2])]

    def take(self, ticket: Hashable) -> LoadedBatch:
        loader, life, part = self._open.pop(ticket)
        if self._loaders.lives[loader] != life:
            raise LoaderLostError
        made = self._loaders.makers[loader].make(part, self._digest)
        sent: LoadedBatch = pickle.loads(pickle.dumps(made))
        return sent

    def hopeless(self) -> str | None:
        return None if self._loaders.makers else "all of them were killed"

    def now(self) -> float:
        return 0.0


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterators ask the loaders of this process."""
    monkeypatch.setattr(loader_iterator, "RayTransport", InProcess)
