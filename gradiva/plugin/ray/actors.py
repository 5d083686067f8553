"""What runs in the actors: loaders, which keep nothing, and the ledger of a pool."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.serialization import files
from gradiva.eager.execution.quarantine import Quarantined
from gradiva.eager.support.errors import GradivaError, describe, wrong_type
from gradiva.ops.readers.core.source import EpochPart

from .batch_fetcher import Waits
from .batch_producer import BatchProducer, LoaderFacts
from .cluster import ray
from .loaded_batch import LoadedBatch
from .shared_memory import Exporter, Reader

__all__ = ["Loader", "LoaderRegistry", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """What a loader makes its pipeline from: a stored one, or a function that makes one.

    seed: in place of the pipeline's; otherwise: where it has none. cut: whether trainers do a part
    of it.
    """

    source: bytes | Callable[[], Any]
    num_threads: int
    seed: int | None
    otherwise: int
    cut: bool = False

    def pipeline(self) -> Pipeline:
        """A pipeline that is not built: its data are not opened. Raises what the function raises,
        and GradivaError."""
        if isinstance(self.source, bytes):
            changed: dict[str, Any] = {"num_threads": self.num_threads}
            if self.seed is not None:
                changed["seed"] = self.seed
            stored: Pipeline = files.load(Pipeline, self.source, None, changed)
            return stored
        made = self.source()
        if not isinstance(made, Pipeline):
            raise wrong_type("pipeline", "a function that makes a pipeline", describe(made))
        made._check_unbuilt()
        seed = made._options.seed if self.seed is None else self.seed
        seed = self.otherwise if seed is None else seed
        made._options = replace(made._options, num_threads=self.num_threads, seed=seed)
        return made


class Loader:
    """Makes any batch that it is asked for. It opens its data at the first call, so that a bad
    pipeline is an answer, not a dead actor."""

    def __init__(self, number: int, recipe: Recipe, ledger: str) -> None:
        self._recipe = recipe
        self._producer: BatchProducer | None = None
        self._exporter = Exporter()
        self._lock = threading.Lock()
        # Its name: Ray warns of handles in what a loader is started again with.
        with suppress(ValueError):  # there is none any more, which costs its figures only
            known = ray.get_actor(ledger)  # Ray 2.40 forgets an actor that no name holds
            known.joined.remote(number)

    def _made(self) -> BatchProducer:
        with self._lock:  # two batches may be the first ones
            if self._producer is None:
                self._producer = BatchProducer(self._recipe.pipeline(), self._recipe.cut)
            return self._producer

    def facts(self) -> LoaderFacts | GradivaError:
        """What it makes, or why it cannot."""
        try:
            return self._made().facts()
        except GradivaError as error:
            return error

    def length(self, epoch: int) -> int:
        """Samples in an epoch."""
        return self._made().length(epoch)

    def make(self, part: EpochPart, digest: str, reader: Reader | None = None) -> LoadedBatch:
        """A batch, or its error. reader: who can read it where it lies, on the same machine."""
        if reader is not None:
            self._exporter.take_back(reader)
        try:
            made = self._made().make(part, digest)
        except GradivaError as error:
            made = LoadedBatch(error=error)
        return made if reader is None else self._exporter.export(made, reader)

    def take_back(self, reader: Reader) -> None:
        """A trainer needs no more."""
        self._exporter.take_back(reader)

    def process(self) -> int:
        """The number of its process: it is there."""
        return os.getpid()


class LoaderRegistry:
    """What is known of a pool: its loaders, what trainers have seen, bad samples. No batch and no
    request goes through it."""

    def __init__(self) -> None:
        self._version = 0
        self._loaders: dict[int, Any] = {}
        self._starts: dict[int, int] = {}
        self._seen: dict[str, dict[str, Any]] = {}
        self._bad: dict[tuple[Any, ...], Quarantined] = {}

    def joined(self, number: int) -> None:
        """A loader was started, or started again."""
        self._starts[number] = self._starts.get(number, 0) + 1

    def set_loaders(self, loaders: dict[int, Any]) -> None:
        """These are the loaders from now on."""
        self._version += 1
        self._loaders = loaders

    def report(
        self, trainer: str, waits: Waits, bad: list[Quarantined], version: int
    ) -> tuple[int, dict[int, Any]] | None:
        """Take in what a trainer has seen so far, and samples that could not be read. Returns the
        loaders, if they are others than those of this version."""
        self._seen[trainer] = asdict(waits)
        for entry in bad:
            self._bad.setdefault((entry.file, entry.position, entry.operator), entry)
        return None if version == self._version else (self._version, self._loaders)

    def quarantine(self) -> list[Quarantined]:
        """Samples that could not be read, each once."""
        return list(self._bad.values())

    def seen(self) -> tuple[dict[str, dict[str, Any]], dict[int, int]]:
        """What each trainer has seen; and how often each loader was started."""
        return self._seen, self._starts
