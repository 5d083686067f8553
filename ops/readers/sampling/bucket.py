"""Buckets: batches of samples of about one size, and what that size is."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.source import ValueEqual

from .checks import Floats, as_count, as_numbers, digest

KEYS = ("bytes", "pixels", "height", "width", "duration")
"""What a reader knows of its samples by itself."""


class Bucket(ValueEqual):
    """Batches of samples of about one size, so that little of them is padding: the samples of an
    epoch are sorted within windows and cut into batches, whose order is random again where the
    reader shuffles. A batch never goes over the end of an epoch.

    key: the size of a sample: "bytes" (default), "pixels", "height" or "width" (of the header of an
        image), "duration" (of audio, in seconds, as its manifest or its file has it), or a number
        for each sample of the data set, such as the length of a text.
    edges: increasing sizes; a batch does not go over one of them.
    tolerance: instead, by how much of its smallest size the sizes of a batch may differ.
    max_tokens: the most that the largest size of a batch, times its number of samples, may be: what
        it holds once it is padded. A sample above it is a batch of its own.
    max_batch: the most samples of a batch; with a batch size of the loop or the pipeline, the less
        of both.
    window: samples that are sorted together.

    Raises OperatorValueError or OperatorTypeError for values that make no sense.
    """

    def __init__(
        self,
        key: Any = "bytes",
        *,
        edges: Any = None,
        tolerance: float | None = None,
        max_tokens: float | None = None,
        max_batch: int | None = None,
        window: int = 10000,
    ) -> None:
        self.key: str | Floats = _as_key(key)
        if edges is not None and tolerance is not None:
            raise op.OperatorValueError("give either `edges` or `tolerance`, not both")
        self.edges: Floats | None = None if edges is None else _as_edges(edges)
        self.tolerance = _number(tolerance, "tolerance", 0.0)
        self.max_tokens = _number(max_tokens, "max_tokens", np.nextafter(0.0, 1.0))
        self.max_batch = as_count(max_batch, "max_batch")
        self.window = as_count(window, "window") or 10000
        held = self.key if isinstance(self.key, str) else digest(self.key)
        between = None if self.edges is None else self.edges.tolist()
        self._description = (
            f"Bucket({held}, edges={between}, tolerance={self.tolerance}, "
            f"max_tokens={self.max_tokens}, max_batch={self.max_batch}, window={self.window})"
        )

    @property
    def description(self) -> str:
        return self._description

    def sizes(self, size: int, known: Callable[[str], Floats | None]) -> Floats:
        """The size of each of so many samples. known: asks the table. Raises OperatorValueError."""
        if not isinstance(self.key, str):
            if len(self.key) != size:
                raise op.wrong_value("key", f"a number for each sample, {size}", len(self.key))
            return self.key
        found = known(self.key)
        if found is None:
            raise op.OperatorValueError(
                _unknown(self.key),
                argument="key",
                expected="a number for each sample, such as the lengths of peek_audio",
                got=repr(self.key),
            )
        return np.asarray(found, np.float64)

    def cut(self, sizes: Floats, most: int) -> list[tuple[int, int]]:
        """Cut samples, sorted by size, into batches of at most so many: their ranges."""
        found: list[tuple[int, int]] = []
        place = 0
        while place < len(sizes):
            last = min(self._run_end(sizes, place), place + most)
            if self.max_tokens is not None:
                last = _within(sizes, place, last, self.max_tokens)
            found.append((place, last))
            place = last
        return found

    def _run_end(self, sizes: Floats, place: int) -> int:
        """Up to where samples may be in a batch with the one at this place."""
        first = sizes[place]
        if self.edges is not None:
            edge = int(np.searchsorted(self.edges, first, side="left"))
            if edge < len(self.edges):
                return int(np.searchsorted(sizes, self.edges[edge], side="right"))
        elif self.tolerance is not None:
            return int(np.searchsorted(sizes, first * (1 + self.tolerance), side="right"))
        return len(sizes)


def _within(sizes: Floats, place: int, last: int, max_tokens: float) -> int:
    """Where a batch ends that holds as much as the budget lets it, one sample at least."""
    low, high = place + 1, last
    while low < high:
        end = (low + high + 1) // 2
        if (end - place) * sizes[end - 1] <= max_tokens:
            low = end
        else:
            high = end - 1
    return low


def steps_of(
    batches: list[tuple[int, int]], sizes: Floats, shards: int
) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """Batches dealt to steps, in each of which every shard has one that costs about as much as
    those of the others; and the samples that do not suffice for a step. Where batches are missing,
    those that cost most are cut in two."""
    heap = [(-(stop - start) * sizes[stop - 1], start, stop) for start, stop in batches]
    heapq.heapify(heap)
    single: list[tuple[float, int, int]] = []
    while (len(heap) + len(single)) % shards and heap:
        cost, start, stop = heapq.heappop(heap)
        if stop - start == 1:
            single.append((cost, start, stop))
            continue
        middle = (start + stop) // 2
        for part in ((start, middle), (middle, stop)):
            heapq.heappush(heap, (-(part[1] - part[0]) * sizes[part[1] - 1], *part))
    ordered = sorted([*heap, *single])
    whole = len(ordered) // shards * shards
    steps = [
        [(start, stop) for _, start, stop in ordered[place : place + shards]]
        for place in range(0, whole, shards)
    ]
    return steps, [start for _, start, _ in ordered[whole:]]


def _unknown(key: str) -> str:
    files = {"bytes": "", "duration": ": none of them is audio"}
    why = files.get(key, ": none of them is an image")
    return f"this reader does not know that of its samples before it reads them{why}"


def _as_key(value: Any) -> str | Floats:
    if isinstance(value, str):
        if value not in KEYS:
            raise op.OperatorValueError(
                operator="Bucket",
                argument="key",
                expected=", ".join(map(repr, KEYS)) + ", or a number for each sample",
                got=repr(value),
            )
        return value
    return as_numbers(value, "key")


def _as_edges(value: Any) -> Floats:
    edges = as_numbers(value, "edges")
    if (np.diff(edges) <= 0).any():
        raise op.wrong_value("edges", "increasing numbers", edges.tolist())
    return edges


def _number(value: Any, argument: str, least: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise op.wrong_type(argument, "a number", repr(value))
    if not (least <= value < np.inf):
        wanted = "a number from 0 on" if least == 0 else "a number above 0"
        raise op.wrong_value(argument, wanted, value)
    return float(value)
