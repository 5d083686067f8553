"""The order that a sampler makes, as a plan needs it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.order import kept, seed_of

from .checks import Floats, as_weights
from .samplers import Draw, Sampler

__all__ = ["SampledOrder"]

_FAR = 1 << 32
"""Positions of epochs whose length may differ."""
MOST_SAMPLES = 1 << 28
"""Of an epoch that a sampler makes: its order is drawn at once, and held in memory."""


class SampledOrder:
    """What a sampler draws in each epoch.

    labels: called once, for the labels of the data set, if it knows them.
    """

    grouped = False

    def __init__(
        self,
        sampler: Sampler,
        size: int,
        seed: int,
        shuffle: bool,
        labels: Callable[[], op.Int64Array | None],
        weights: dict[int, Floats] | None = None,
    ) -> None:
        self.sampler, self.size, self.seed = sampler, size, seed
        self._shuffle, self._ask_labels = shuffle, labels
        self._labels: op.Int64Array | None = None
        self._asked = False
        self._weights = {} if weights is None else weights
        """The weights that were set, by the first epoch in which they hold."""
        self._kept: dict[int, op.Int64Array] = {}
        self._witness: tuple[int, str] | None = None
        self._text: tuple[dict[int, Floats], dict[str, str]] | None = None
        self.unit, self.uneven = sampler.unit, sampler.varying
        sampler.check(self._draw(0))
        if not sampler.varying and self.length(0) > MOST_SAMPLES:
            raise op.wrong_value(
                "sampler" if getattr(sampler, "epoch_size", None) is None else "epoch_size",
                f"an epoch of at most {MOST_SAMPLES} samples",
                self.length(0),
            )
        self.stride = _FAR if sampler.varying or sampler.weighted else self.length(0)

    def _draw(self, epoch: int) -> Draw:
        if not self._asked:
            self._labels, self._asked = self._ask_labels(), True
        since = max((first for first in self._weights if first <= epoch), default=None)
        weights = None if since is None else self._weights[since]
        return Draw(self.size, self.seed, epoch, self._shuffle, self._labels, weights)

    def _order(self, epoch: int) -> op.Int64Array:
        return kept(self._kept, epoch, lambda: self.sampler.draw(self._draw(epoch)))

    def length(self, epoch: int) -> int:
        if self.sampler.varying:
            return len(self._order(epoch))
        return self.sampler.length(self._draw(epoch))

    def indices(self, epoch: int, places: op.Int64Array) -> op.Int64Array:
        return self._order(epoch)[places]

    def for_batches(self, count: int) -> SampledOrder:
        return self

    def weights_from(self, epoch: int) -> Floats:
        """The weights that hold in an epoch. Raises OperatorValueError for a sampler without."""
        if not self.sampler.weighted:
            raise op.OperatorValueError(
                "this sampler has no weights",
                argument="sampler",
                expected="'weighted'",
                got=self.sampler.description,
            )
        drawn = self._draw(epoch)
        own = getattr(self.sampler, "weights", None)
        chosen = own if drawn.weights is None else drawn.weights
        return np.ones(self.size) if chosen is None else chosen

    def set_weights(self, epoch: int, weights: Any, argument: str) -> None:
        """Let these weights hold from an epoch on. Raises OperatorValueError."""
        self.weights_from(epoch)
        held = as_weights(weights, argument)
        self.sampler.check(Draw(self.size, self.seed, epoch, self._shuffle, self._labels, held))
        # Of what held before only the last is needed, for the epoch that is read now.
        before = max((first for first in self._weights if first < epoch), default=None)
        now = {} if before is None else {before: self._weights[before]}
        self._weights = {**now, epoch: held}
        self._kept = {key: value for key, value in self._kept.items() if key < epoch}

    def score(self, epoch: int, indices: op.Int64Array, values: Floats) -> None:
        """Let the weights of some samples be these from an epoch on. Raises OperatorValueError."""
        weights = self.weights_from(epoch).copy()
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise op.wrong_value("scores", "numbers from 0 on", f"{values[place]} at {place}")
        weights[indices] = values
        self.set_weights(epoch, weights, "scores")

    def state(self, epoch: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "size": self.size,
            "seed": self.seed,
            "sampler": self.sampler.description,
        }
        if self.sampler.varying:
            found["order"] = self._seen(epoch)
        if self._weights:
            if self._text is None or self._text[0] is not self._weights:
                texts = {
                    str(first): base64.b64encode(held.astype("<f8").tobytes()).decode()
                    for first, held in self._weights.items()
                }
                self._text = self._weights, texts
            found["weights"] = dict(self._text[1])
        return found

    def _seen(self, epoch: int) -> str:
        if self._witness is None or self._witness[0] != epoch:
            held = self._order(epoch).astype("<i8").tobytes()
            self._witness = epoch, blake2b(held, digest_size=16).hexdigest()
        return self._witness[1]

    def restored(self, state: dict[str, Any]) -> SampledOrder:
        seed, said = seed_of(state, self.size), state.get("sampler")
        if said != self.sampler.description:
            raise op.OperatorValueError(
                "the state belongs to a reader with another sampler",
                argument="sampler",
                expected=str(said),
                got=self.sampler.description,
            )
        weights = {
            int(first): _weights_of(text) for first, text in state.get("weights", {}).items()
        }
        made = SampledOrder(
            self.sampler, self.size, seed, self._shuffle, lambda: self._draw(0).labels, weights
        )
        for held in weights.values():
            self.sampler.check(Draw(self.size, seed, 0, self._shuffle, made._labels, held))
        if self.sampler.varying and made._seen(int(state["epoch"])) != state["order"]:
            raise op.OperatorValueError(
                f"the function of the sampler returns something else for epoch {state['epoch']} "
                "than when the state was saved",
                argument="sampler",
            )
        return made


def _weights_of(text: str) -> Floats:
    """Raises ValueError, OperatorValueError for what are no weights."""
    held = base64.b64decode(text, validate=True)
    return as_weights(np.frombuffer(held, "<f8"), "weights")
