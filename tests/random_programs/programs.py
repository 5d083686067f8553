"""Random programs: small graphs of operators on random batches, the same for the same seed.

A program is drawn call by call. Each call is run at once, on the data of every turn, so that the
next one can be drawn to fit what is there; a call that fails is thrown away, or, in a program that
is to fail, is its end. `program_operators` is the table that calls are drawn from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gradiva
from gradiva.eager.random.step import enter_step, leave_step
from tests.random_programs.program_inputs import draw_turns
from tests.random_programs.program_moments import Moments

__all__ = ["SIZE", "Drawer", "Facts", "Program", "Ref", "Step"]

_IMAGES = ("HWC", "CHW", "HW", "FHWC")
_LARGEST = 40
"""Pixels along an axis, at most."""


@dataclass(frozen=True)
class Ref:
    """A value of the program: an input, or the result of a call."""

    index: int

    def __repr__(self) -> str:
        return f"%{self.index}"


class _Size:
    """Stands for the batch size of the first input."""

    def __repr__(self) -> str:
        return "%0.batch_size"


SIZE = _Size()


@dataclass(frozen=True)
class Step:
    """One call."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    keywords: dict[str, Any]

    def run(self, values: Sequence[Any]) -> Any:
        def given(value: Any) -> Any:
            if isinstance(value, Ref):
                return values[value.index]
            return values[0].batch_size if value is SIZE else value

        inputs = [given(value) for value in self.inputs]
        return self.function(*inputs, **{name: given(v) for name, v in self.keywords.items()})

    def __str__(self) -> str:
        texts = [repr(value) for value in self.inputs]
        texts += [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"{self.name}({', '.join(texts)})"


@dataclass
class Program:
    """A function of batches, and what it is called with in each turn.

    declared: whether a pipeline is told the types of its inputs; fails: whether a call fails;
    moments: what happens to objects between its calls.
    """

    seed: int
    turns: list[tuple[gradiva.Batch, ...]]
    declared: bool = True
    fails: bool = False
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    moments: Moments = field(default_factory=lambda: Moments(0, share=0.0))

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values = list(inputs)
        for step in self.steps:
            self.moments.happen(*values)
            values.append(step.run(values))
        return tuple(values[index] for index in self.outputs)

    @property
    def unread(self) -> list[int]:
        """The values that no call reads and that are no output."""
        read = {
            value.index
            for step in self.steps
            for value in (*step.inputs, *step.keywords.values())
            if isinstance(value, Ref)
        }
        first = len(self.turns[0])
        made = range(first, first + len(self.steps))
        return [value for value in made if value not in read and value not in self.outputs]

    @property
    def batch_size(self) -> int:
        return max(1, *(len(batches[0]) for batches in self.turns))

    @property
    def calls(self) -> list[str]:
        return [step.name for step in self.steps]

    def __str__(self) -> str:
        first = len(self.turns[0])
        lines = [f"program {self.seed}, declared={self.declared}:"]
        lines += [
            "  turn: " + "; ".join(f"{batch.type} {batch.shape}" for batch in batches)
            for batches in self.turns
        ]
        lines += [f"  %{first + k} = {step}" for k, step in enumerate(self.steps)]
        return "\n".join([*lines, f"  return {', '.join(f'%{k}' for k in self.outputs)}"])


@dataclass(frozen=True)
class Facts:
    """What is known of a value in all turns. height, width: the least of all samples."""

    dtype: Any
    ndim: int
    layout: str
    height: int = 0
    width: int = 0
    largest: int = 0
    channels: int = 1

    @property
    def is_image(self) -> bool:
        return self.layout in _IMAGES


def facts_of(values: Sequence[Any]) -> Facts:
    """values: of the turns."""
    shapes = [
        shape
        for value in values
        for shape in (value.shape if isinstance(value, gradiva.Batch) else [value.shape])
    ]
    first = values[0]
    extents = {
        letter: [shape[axis] for shape in shapes] for axis, letter in enumerate(first.layout)
    }
    least = {letter: min(found, default=8) for letter, found in extents.items()}
    most = max((extent for shape in shapes for extent in shape), default=8)
    return Facts(
        first.dtype,
        first.ndim,
        first.layout,
        least.get("H", 0),
        least.get("W", 0),
        most,
        least.get("C", 1),
    )


class Drawer:
    """Draws one program. Rules of the table call its methods."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        turns, self.encoded = draw_turns(self.random)
        self.program = Program(seed, turns, declared=self.random.random() < 0.75)
        self.values: list[list[Any]] = [list(batches) for batches in turns]
        self.facts = [facts_of([turn[k] for turn in turns]) for k in range(len(turns[0]))]
        self._known: dict[Any, Ref] = {}
        self.in_chain = False

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choice(self, *options: Any) -> Any:
        return self.random.choice(options)

    def image(self) -> Ref:
        """One of the images, mostly the last one."""
        images = [Ref(k) for k, known in enumerate(self.facts) if known.is_image]
        return images[-1] if self.in_chain or self.chance(0.8) else self.random.choice(images)

    def call(self, name: str, function: Callable[..., Any], *inputs: Any, **keywords: Any) -> Ref:
        """Append a call and run it. Raises GradivaError, and then it is not there."""
        step = Step(name, function, inputs, keywords)
        results = []
        for values in self.values:
            enter_step(self, np.arange(len(values[0])))
            try:
                results.append(step.run(values))
            finally:
                leave_step(self)
        known = facts_of(results)
        if known.largest > _LARGEST:
            raise gradiva.OperatorValueError("too large for a test")
        for values, result in zip(self.values, results, strict=True):
            values.append(result)
        self.facts.append(known)
        self.program.steps.append(step)
        return Ref(len(self.facts) - 1)

    # Arguments.

    def number(self, low: float, high: float) -> Any:
        """A number; the same for all samples or not."""
        kind = self.random.random()
        if kind < 0.55:
            return round(self.random.uniform(low, high), 3)
        if kind < 0.65:
            return np.float32(self.random.uniform(low, high))
        key = ("number", low, high)
        if key in self._known and self.chance(0.3):
            return self._known[key]
        levels = len(self.program.turns[0]) - 2
        if kind < 0.75:
            wide = self.call("mul", lambda x, y: x * y, Ref(levels), high - low)
            made = self.call("add", lambda x, y: x + y, wide, low)
        else:
            size = {} if kind > 0.95 else {"batch_size": SIZE}
            uniform = gradiva.random.uniform
            made = self.call("random.uniform", uniform, range=(low, high), **size)
        self._known[key] = made
        return made

    def flag(self) -> Any:
        """0 or 1; the same for all samples or not."""
        kind = self.random.random()
        if kind < 0.45:
            return self.choice(0, 1)
        if kind < 0.6:
            return Ref(len(self.program.turns[0]) - 1)
        size = {} if kind > 0.95 else {"batch_size": SIZE}
        return self.call("random.coin_flip", gradiva.random.coin_flip, **size)

    def finish(self, failed: Step | None, may_damage: bool) -> Program:
        """Choose the outputs: the last value, and perhaps others."""
        program = self.program
        first, last = len(program.turns[0]), len(self.facts) - 1
        if may_damage and self.encoded and self.chance(0.12):
            self._damage()
        if failed is not None:
            program.fails = True
            program.steps.append(failed)
            last += 1
            if self.chance(0.5):
                program.steps.append(Step("cast", gradiva.cast, (Ref(last),), {"dtype": "int32"}))
                last += 1
        chosen = [last]
        if self.chance(0.4):
            others = range(first - 2, last)
            chosen += self.random.sample(others, min(self.random.randint(1, 2), len(others)))
            self.random.shuffle(chosen)
        program.outputs = tuple(chosen)
        return program

    def _damage(self) -> None:
        """Cut one file short: its decoder fails, in that turn."""
        program, place = self.program, self.random.choice(self.encoded)
        turn = self.random.randrange(len(program.turns))
        batches = list(program.turns[turn])
        files = [np.array(file) for file in batches[place]]
        if not files:
            return
        sample = self.random.randrange(len(files))
        length = len(files[sample])
        files[sample] = files[sample][: self.random.choice((0, 9, length // 2, length - 20))]
        batches[place] = gradiva.as_batch(files)
        program.turns[turn] = tuple(batches)
        program.fails = True
