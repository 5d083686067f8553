"""`LoaderEvaluator`: how long a training loop waits for its batches, and how long it would without
a loader."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from gradiva.eager.support.errors import OperatorValueError, describe, wrong_value

__path__: list[str] = []  # so that what is below it is looked for: gradiva.compat

__all__ = ["LoaderEvaluator"]

_MODES = ("log", "replay")


class LoaderEvaluator:
    """Stands in for a loader in a training loop, and measures.

    dataloader: anything that is looped over. mode: "log" returns its batches, and notes down how
    long each was waited for; "replay" makes the first `num_cached_batches` at once, and returns
    these in turns, as many as the loader has batches (where that is not known, each once): the time
    of such an epoch is what no loader can be faster than. metrics_file: where `save_metrics` writes
    to by default. Numbers are those of the last loop, in seconds.

    Raises OperatorValueError for another mode, a number of batches below 1, or a loader without
    any batch in "replay".
    """

    def __init__(
        self,
        dataloader: Any,
        mode: str = "log",
        num_cached_batches: int = 20,
        metrics_file: str | os.PathLike[str] | None = None,
    ) -> None:
        if mode not in _MODES:
            raise wrong_value(
                "mode", "'log' or 'replay'", describe(mode), operator="LoaderEvaluator"
            )
        if (
            isinstance(num_cached_batches, bool)
            or not isinstance(num_cached_batches, int)
            or num_cached_batches < 1
        ):
            raise wrong_value(
                "num_cached_batches",
                "an integer from 1 on",
                describe(num_cached_batches),
                operator="LoaderEvaluator",
            )
        self.dataloader = dataloader
        self.mode = mode
        self.num_cached_batches = num_cached_batches
        self.metrics_file = metrics_file
        self.cached_batches: list[Any] = []
        self.batch_times: list[float] = []
        self._begin = self._end = 0.0
        if mode == "replay":
            self.cached_batches = list(itertools.islice(iter(dataloader), num_cached_batches))
            if not self.cached_batches:
                raise OperatorValueError(
                    "the loader has no batch", operator="LoaderEvaluator", argument="dataloader"
                )

    def __len__(self) -> int:
        """That of the loader."""
        return len(self.dataloader)

    def __iter__(self) -> Iterator[Any]:
        self.batch_times = []
        self._begin = self._end = time.perf_counter()
        batches = iter(self.dataloader) if self.mode == "log" else self._replayed()
        while True:
            begin = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                self._end = time.perf_counter()
                return
            self._end = time.perf_counter()
            self.batch_times.append(self._end - begin)
            yield batch

    def _replayed(self) -> Iterator[Any]:
        try:
            count = len(self.dataloader)
        except TypeError:
            count = 0
        count = count or len(self.cached_batches)  # iterators of unknown length say 0
        return itertools.islice(itertools.cycle(self.cached_batches), count)

    def get_metrics(self) -> dict[str, Any]:
        """mode, total_batches, total_time (of the whole loop, with what it does with the batches),
        avg_batch_time, min_batch_time, max_batch_time and batch_times (how long each was waited
        for), cached_batches, cache_ready."""
        times = self.batch_times
        return {
            "mode": self.mode,
            "total_batches": len(times),
            "total_time": self._end - self._begin,
            "avg_batch_time": sum(times) / len(times) if times else 0.0,
            "min_batch_time": min(times, default=0.0),
            "max_batch_time": max(times, default=0.0),
            "batch_times": list(times),
            "cached_batches": len(self.cached_batches),
            "cache_ready": bool(self.cached_batches),
        }

    def save_metrics(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write them as JSON. Raises OperatorValueError without a name, here and in the
        constructor; OSError."""
        name = filename if filename is not None else self.metrics_file
        if name is None:
            raise wrong_value(
                "filename",
                "a name, or `metrics_file` of the constructor",
                "none",
                operator="LoaderEvaluator.save_metrics",
            )
        with open(name, "w", encoding="utf-8") as file:
            json.dump(self.get_metrics(), file, indent=2)

    def print_summary(self) -> None:
        """Print them, but for the list."""
        found = self.get_metrics()
        share = sum(found["batch_times"]) / found["total_time"] if found["total_time"] else 0.0
        print(f"LoaderEvaluator, mode {self.mode}: {found['total_batches']} batches")
        print(f"  {found['total_time']:.3f} s in all, {share:.0%} of it waited for batches")
        print(
            f"  a batch: {found['avg_batch_time'] * 1e3:.3f} ms on average, "
            f"{found['min_batch_time'] * 1e3:.3f} to {found['max_batch_time'] * 1e3:.3f} ms"
        )
        if self.cached_batches:
            print(f"  from {found['cached_batches']} batches that were made before")
