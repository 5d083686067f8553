"""`RNG`: numbers the random calls, so that each has its own key."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from gradiva.eager.support.errors import describe, wrong_value
from gradiva.eager.support.validation import integer

from .philox import philox
from .step import current_step

_OUTSIDE = 1 << 31
"""Calls outside of steps are numbered from here on."""
_LAST = _OUTSIDE - 1
SEED_BITS = 0xFFFFFFFFFFFFFFFF


class RandomKey(NamedTuple):
    """The key of one random call: its values depend on it and on the positions of its samples
    only."""

    seed: int
    number: int


class RNG:
    """A source of random values for `gradiva.random`, given as `rng=`.

    seed: any integer (its low 64 bits count); drawn from the operating system if not given.
    state: in place of a seed, what `get_state` returned.

    Inside a loop over a reader the values depend on the seed, the number of the call in the step
    and the sample. Outside, the generator numbers its own calls, and begins again after 2**31 of
    them. Safe from several threads: no two calls get one number. It can be copied and pickled.

    Raises OperatorTypeError for a seed that is no integer; OperatorValueError for another state,
    and for a seed and a state together.
    """

    def __init__(self, seed: SupportsIndex | None = None, state: Any = None) -> None:
        self._lock = threading.Lock()
        if seed is not None and state is not None:
            raise wrong_value(
                "state", "a seed or a state, not both", describe(state), operator="RNG"
            )
        self._calls = 0
        self._seed = int.from_bytes(os.urandom(8), "little") if seed is None else _seed(seed)
        if state is not None:
            self.set_state(state)

    @property
    def seed(self) -> int:
        """The seed; setting it starts the generator again."""
        self._follow()
        return self._seed

    @seed.setter
    def seed(self, value: SupportsIndex) -> None:
        self.set_state((_seed(value), 0))

    @property
    def state(self) -> tuple[int, ...]:
        """What `get_state` returns; setting it is `set_state`."""
        return self.get_state()

    @state.setter
    def state(self, value: Any) -> None:
        self.set_state(value)

    def get_state(self, *, cuda_stream: object = None) -> tuple[int, ...]:
        """(seed, number of calls made outside of steps), and in a step in which it was used the
        number of its calls there: plain data for `set_state`."""
        self._follow()
        running = current_step()
        inside = 0 if running is None else running.calls.get(self, 0)
        with self._lock:
            return (self._seed, self._calls, inside) if inside else (self._seed, self._calls)

    def set_state(self, value: Any) -> None:
        """Continue from a state that `get_state` returned. Its third number counts inside of a step
        alone; outside, the next step begins with its first call, as always.

        Raises OperatorValueError.
        """
        try:
            seed, calls, *rest = (index(number) for number in value)
            (inside,) = rest or (0,)
        except (TypeError, ValueError):
            seed, calls, inside = 0, -1, 0
        if calls < 0 or inside < 0:
            raise wrong_value(
                "value",
                "the state of an RNG, (seed, calls)",
                describe(value),
                operator="RNG.set_state",
            )
        self._follow()
        with self._lock:
            self._seed, self._calls = seed & SEED_BITS, calls
        running = current_step()
        if running is not None:
            running.calls[self] = inside

    def advance(self, n: SupportsIndex) -> None:
        """Skip `n` calls: in a step, calls of this step.

        Raises OperatorTypeError for what is no integer; OperatorValueError below 0.
        """
        count = integer(n, 0, limits="a number from 0 on", operator="RNG.advance", argument="n")
        self._follow()
        running = current_step()
        if running is not None:
            running.skip(self, count)
        else:
            with self._lock:
                self._calls += count

    def clone(self) -> RNG:
        """An independent generator in the same state: its next calls give the same values."""
        return RNG(state=self.get_state())

    def draw(self) -> RandomKey:
        """The key of the next call made in this context."""
        self._follow()
        running = current_step()
        if running is not None:
            return RandomKey(self._seed, running.take(self) & _LAST)
        with self._lock:
            number = self._calls
            self._calls += 1
            return RandomKey(self._seed, _OUTSIDE + (number & _LAST))

    def _follow(self) -> None:
        """Called before each use; the default generator checks here in which process it is."""

    def __call__(self) -> int:
        """A number of 32 random bits, which counts as one call of the generator."""
        seed, number = self.draw()
        running = current_step()
        first = 0 if running is None or not len(running.positions) else running.positions[0]
        words = philox(np.uint32(0), np.uint32(number), np.uint64(first), np.uint64(seed))
        return int(words[0])

    def __reduce__(self) -> tuple[Callable[..., RNG], tuple[Any, ...]]:
        return RNG, (None, self.get_state())

    def __repr__(self) -> str:
        return f"RNG(seed={self.seed})"


class RepeatedRNG(RNG):
    """Stands for another generator, from which it draws once, for calls that belong together.

    by_default: whether that is the default one because the user has named none; number: what a
    graph that is recorded has numbered the call, once it has.
    """

    def __init__(self, generator: RNG, by_default: bool) -> None:
        self.generator = generator
        self.by_default = by_default
        self.number: int | None = None
        self._key: RandomKey | None = None

    def draw(self) -> RandomKey:
        if self._key is None:
            self._key = self.generator.draw()
        return self._key


def _seed(value: SupportsIndex) -> int:
    return integer(value, operator="RNG", argument="seed") & SEED_BITS
