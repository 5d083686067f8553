"""Samplers that go by labels: as much of each class, and groups of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .checks import as_count, as_labels, digest
from .draws import CLASSES, MEMBERS, keys
from .samplers import Draw, Sampler


class _ByClass(Sampler):
    """labels: an integer for each sample; by default the labels that the reader reads. classes: the
    labels to draw from; by default all that occur."""

    def __init__(self, labels: Any, classes: Any) -> None:
        self._labels = None if labels is None else as_labels(labels, None)
        self._classes = None if classes is None else np.unique(as_labels(classes, None, "classes"))
        self._found: tuple[Any, list[op.Int64Array]] | None = None
        self._held = ", ".join(
            f"{name}={'None' if values is None else digest(values)}"
            for name, values in (("labels", self._labels), ("classes", self._classes))
        )

    def members(self, draw: Draw) -> list[op.Int64Array]:
        """The samples of each class."""
        found = self._found
        if found is None or found[0] is not draw.labels:
            found = self._found = draw.labels, self._members(draw)
        return found[1]

    def _members(self, draw: Draw) -> list[op.Int64Array]:
        labels = draw.labels if self._labels is None else self._labels
        if labels is None:
            raise op.OperatorValueError(
                "this reader does not know the labels before it reads",
                argument="labels",
                expected="an integer for each sample",
                got="None",
            )
        labels = as_labels(labels, draw.size)
        order = np.argsort(labels, kind="stable")
        there, starts = np.unique(labels[order], return_index=True)
        parts = np.split(order, starts[1:])
        if self._classes is None:
            return parts
        empty = self._classes[~np.isin(self._classes, there)]
        if len(empty):
            raise op.wrong_value(
                "classes", "labels that samples have", f"{empty[0]}, of which there is no sample"
            )
        return [parts[place] for place in np.searchsorted(there, self._classes).tolist()]

    def check(self, draw: Draw) -> None:
        self.members(draw)

    def _picks(self, draw: Draw, cycles: int, used: int) -> op.Int64Array:
        """The numbers of classes: in each cycle `used` of them, in an order of its own."""
        count = len(self.members(draw))
        chosen = keys(draw.seed, draw.epoch, CLASSES, 0, cycles * count).reshape(cycles, count)
        return np.argsort(chosen, axis=1, kind="stable")[:, :used].reshape(-1).astype(np.int64)

    def _fill(self, draw: Draw, picks: op.Int64Array, group: int) -> op.Int64Array:
        """For each pick of a class `group` samples of it, (picks, group). A class is gone through
        in one permutation after the other."""
        members = self.members(draw)
        made = np.empty((len(picks), group), np.int64)
        order = np.argsort(picks, kind="stable")
        bounds = np.searchsorted(picks[order], np.arange(len(members) + 1))
        first = 0
        for number, samples in enumerate(members):
            places = order[bounds[number] : bounds[number + 1]]
            if not len(places):
                continue
            # Groups do not go over the end of a permutation, after which a sample may come again;
            # a group of more samples than there are begins with one.
            groups = max(1, len(samples) // group)
            rounds = -(-len(places) // groups) * -(-group // len(samples))
            chosen = keys(draw.seed, draw.epoch, MEMBERS, first, rounds * len(samples))
            first += len(chosen)
            turns = np.argsort(chosen.reshape(rounds, len(samples)), axis=1, kind="stable")
            if group <= len(samples):
                turns = turns[:, : groups * group].reshape(-1, group)
            else:
                turns = turns.reshape(-(-len(places) // groups), -1)[:, :group]
            made[places] = samples[turns[: len(places)]]
        return made


class Balanced(_ByClass):
    """As many samples of each class, whatever their number in the data set: classes take turns, in
    random order, and each is gone through in one permutation after the other.

    labels: an integer for each sample; by default the labels that the reader reads.
    classes: the labels to draw from; by default all that occur.
    epoch_size: samples in an epoch; by default as many as the data set has.

    Raises OperatorValueError for a class without samples.
    """

    def __init__(
        self, labels: Any = None, classes: Any = None, epoch_size: int | None = None
    ) -> None:
        super().__init__(labels, classes)
        self.epoch_size = as_count(epoch_size, "epoch_size")

    @property
    def description(self) -> str:
        return f"Balanced({self._held}, epoch_size={self.epoch_size})"

    def length(self, draw: Draw) -> int:
        return self.epoch_size or draw.size

    def draw(self, draw: Draw) -> op.Int64Array:
        length, count = self.length(draw), len(self.members(draw))
        picks = self._picks(draw, -(-length // count), count)[:length]
        return self._fill(draw, picks, 1).reshape(-1)


class PK(_ByClass):
    """Groups of p classes with k samples each, as batches for losses between samples: read them in
    batches of p * k. Shards are cut between groups.

    p: different classes in a group. k: samples of each; they differ where the class has as many.
    labels: an integer for each sample; by default the labels that the reader reads.
    classes: the labels to draw from; by default all that occur.
    epoch_size: samples in an epoch, a multiple of p * k; by default about as many as the data set
        has.

    Raises OperatorValueError for fewer than p classes.
    """

    def __init__(
        self, p: int, k: int, labels: Any = None, classes: Any = None, epoch_size: int | None = None
    ) -> None:
        super().__init__(labels, classes)
        self.p, self.k = as_count(p, "p") or 1, as_count(k, "k") or 1
        self.unit = self.p * self.k
        self.epoch_size = as_count(epoch_size, "epoch_size")
        if (self.epoch_size or 0) % self.unit:
            raise op.wrong_value("epoch_size", f"a multiple of p * k = {self.unit}", epoch_size)

    @property
    def description(self) -> str:
        return f"PK({self.p}, {self.k}, {self._held}, epoch_size={self.epoch_size})"

    def check(self, draw: Draw) -> None:
        count = len(self.members(draw))
        if count < self.p:
            raise op.wrong_value("p", f"at most as many as there are classes, {count}", self.p)

    def length(self, draw: Draw) -> int:
        return self.epoch_size or max(1, draw.size // self.unit) * self.unit

    def draw(self, draw: Draw) -> op.Int64Array:
        groups = self.length(draw) // self.unit
        # A cycle over the classes has whole groups, so that those of a group differ.
        per_cycle = len(self.members(draw)) // self.p
        picks = self._picks(draw, -(-groups // per_cycle), per_cycle * self.p)
        return self._fill(draw, picks[: groups * self.p], self.k).reshape(-1)
