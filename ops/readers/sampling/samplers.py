"""Samplers: which samples of a data set an epoch has, and in which order.

A sampler is a pure function of seed and epoch. It is made before sharding, so the shards of an
epoch together are what it has drawn.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.source import ValueEqual

from .checks import Floats, as_count, as_indices, as_weights, check_inside, digest
from .draws import CHOICES, keys, race, uniforms


@dataclass(frozen=True)
class Draw:
    """What a sampler draws from: the size of the data set and its labels, or None; for which epoch,
    and whether the reader was asked to shuffle; weights: those that were set meanwhile."""

    size: int
    seed: int
    epoch: int
    shuffle: bool
    labels: op.Int64Array | None
    weights: Floats | None = None


class Sampler(ValueEqual, ABC):
    """Base of all samplers.

    unit: shards are cut between groups of so many samples. weighted: weights may be set. varying:
    epochs may differ in length, which `length` does not know.
    """

    unit = 1
    weighted = False
    varying = False

    @abstractmethod
    def check(self, draw: Draw) -> None:
        """Raise OperatorValueError where it does not fit the data set."""

    @abstractmethod
    def length(self, draw: Draw) -> int:
        """Samples in an epoch."""

    @abstractmethod
    def draw(self, draw: Draw) -> op.Int64Array:
        """The samples of an epoch, in their order."""


class Weighted(Sampler):
    """Samples with a probability proportional to their weights.

    weights: a number for each sample of the data set, 0 for those that are never read; all equal by
        default, to be set by `reader.set_weights` and `reader.feedback`.
    replacement: a sample may be drawn several times in an epoch, or once at most.
    epoch_size: samples in an epoch; by default as many as the data set has, or, without
        replacement, as have a weight above 0.

    Raises OperatorValueError for weights that are negative, not finite, or all 0.
    """

    weighted = True

    def __init__(
        self, weights: Any = None, replacement: bool = True, epoch_size: int | None = None
    ) -> None:
        self.weights = None if weights is None else as_weights(weights, "weights")
        self.replacement = bool(replacement)
        self.epoch_size = as_count(epoch_size, "epoch_size")
        self._held = "equal weights" if self.weights is None else digest(self.weights)

    @property
    def description(self) -> str:
        options = f"replacement={self.replacement}, epoch_size={self.epoch_size}"
        return f"Weighted({self._held}, {options})"

    def _weights(self, draw: Draw) -> Floats:
        chosen = self.weights if draw.weights is None else draw.weights
        return np.ones(draw.size) if chosen is None else chosen

    def check(self, draw: Draw) -> None:
        weights = self._weights(draw)
        if len(weights) != draw.size:
            raise op.wrong_value(
                "weights", f"a number for each sample, {draw.size}", f"{len(weights)}"
            )
        most = int(np.count_nonzero(weights))
        if not self.replacement and (self.epoch_size or 0) > most:
            raise op.wrong_value(
                "epoch_size",
                f"at most as many samples as have a weight above 0, {most}, without replacement",
                str(self.epoch_size),
            )

    def length(self, draw: Draw) -> int:
        if self.epoch_size is not None:
            return self.epoch_size
        return draw.size if self.replacement else int(np.count_nonzero(self._weights(draw)))

    def draw(self, draw: Draw) -> op.Int64Array:
        weights, length = self._weights(draw), self.length(draw)
        if not self.replacement:
            there = np.flatnonzero(weights)
            times = race(draw.seed, draw.epoch, weights[there])
            drawn_first = np.argsort(times, kind="stable")[:length]
            return np.asarray(there[drawn_first], np.int64)
        # Divided first: a sum of large weights would be infinite.
        sums = np.cumsum(weights / weights.max())
        drawn = uniforms(draw.seed, draw.epoch, CHOICES, 0, length) * sums[-1]
        found = np.searchsorted(sums, drawn, side="right")
        return np.asarray(np.minimum(found, np.flatnonzero(weights)[-1]), np.int64)


class Subset(Sampler):
    """Some samples of the data set, in this order; with `random_shuffle` in an order of each epoch.
    A sample that is named twice is read twice.

    indices: numbers of samples.
    """

    def __init__(self, indices: Any) -> None:
        self.indices = as_indices(indices, "indices")
        self._held = digest(self.indices)

    @property
    def description(self) -> str:
        return f"Subset({self._held})"

    def check(self, draw: Draw) -> None:
        check_inside(self.indices, draw.size, "indices")

    def length(self, draw: Draw) -> int:
        return len(self.indices)

    def draw(self, draw: Draw) -> op.Int64Array:
        return _shuffled(self.indices, draw)


class ShuffleBlocks(Sampler):
    """A shuffle that reads neighbors together, for data where a single read is expensive: blocks of
    neighbors are permuted, and samples within windows of several blocks.

    block: samples in a block; window: blocks in a window.
    """

    def __init__(self, block: int = 1024, window: int = 16) -> None:
        self.block = as_count(block, "block") or 1024
        self.window = as_count(window, "window") or 16

    @property
    def description(self) -> str:
        return f"ShuffleBlocks(block={self.block}, window={self.window})"

    def check(self, draw: Draw) -> None:
        pass

    def length(self, draw: Draw) -> int:
        return draw.size

    def draw(self, draw: Draw) -> op.Int64Array:
        # A block above the size of the data set is all of it.
        block = min(self.block, draw.size)
        blocks = -(-draw.size // block)
        first = keys(draw.seed, draw.epoch, CHOICES, 0, blocks)
        order = np.argsort(first, kind="stable")
        places = order[:, None] * block + np.arange(block)
        places = places[places < draw.size].reshape(-1)
        windows = np.arange(draw.size) // min(self.block * self.window, draw.size)
        chosen = keys(draw.seed, draw.epoch, CHOICES, blocks, draw.size)
        return places[np.lexsort((chosen, windows))].astype(np.int64)


class Function(Sampler):
    """What a function of yours returns: the numbers of the samples of an epoch, in their order.

    function: called with the epoch, or with the epoch and a `numpy.random.Generator` that depends
        on seed and epoch only. It must return the same for the same epoch: a checkpoint holds a
        digest of what it has returned. The length may differ between epochs. With `random_shuffle`
        the result is permuted.
    """

    varying = True

    def __init__(self, function: Callable[..., Iterable[int]]) -> None:
        if not callable(function):
            raise op.wrong_type("function", "a function of the epoch", type(function).__name__)
        self.function = function
        self._takes_generator = _takes_two(function)

    @property
    def description(self) -> str:
        name = getattr(self.function, "__qualname__", None) or type(self.function).__qualname__
        return f"Function({name})"

    def check(self, draw: Draw) -> None:
        pass

    def length(self, draw: Draw) -> int:
        return len(self.draw(draw))

    def draw(self, draw: Draw) -> op.Int64Array:
        given: tuple[Any, ...] = (draw.epoch,)
        if self._takes_generator:
            key = np.array([draw.seed % 2**64, draw.epoch], np.uint64)
            given = (draw.epoch, np.random.Generator(np.random.Philox(key=key)))
        try:
            made = self.function(*given)
        except Exception as error:
            raise op.OperatorRuntimeError(
                f"the function of the sampler has raised {type(error).__name__} in epoch "
                f"{draw.epoch}: {error}",
                argument="sampler",
            ) from error
        found = as_indices(made, "sampler", f" from its function in epoch {draw.epoch}")
        check_inside(found, draw.size, "sampler", f" from its function in epoch {draw.epoch}")
        return _shuffled(found, draw)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = [one.kind for one in parameters]
    places = sum(kind in (0, 1) for kind in kinds)  # positional
    return places > 1 or inspect.Parameter.VAR_POSITIONAL in kinds


def _shuffled(indices: op.Int64Array, draw: Draw) -> op.Int64Array:
    if not draw.shuffle:
        return indices
    chosen = keys(draw.seed, draw.epoch, CHOICES, 0, len(indices))
    return indices[np.argsort(chosen, kind="stable")]
