"""Calls of one generator by several threads have numbers of their own."""

from __future__ import annotations

import contextvars
from itertools import chain

from gradiva.eager.random.generator import RNG
from gradiva.eager.random.step import current_step, step
from tests.hammer import THREADS, hammer

TIMES = 300


def test_no_two_calls_outside_of_steps_get_one_number() -> None:
    generator = RNG(3)
    found = hammer(lambda _: [generator.draw().number for _ in range(TIMES)])
    assert len({*chain.from_iterable(found)}) == THREADS * TIMES
    assert generator.get_state() == (3, THREADS * TIMES)


def test_no_two_calls_in_a_shared_step_get_one_number() -> None:
    generator = RNG(3)
    with step(0, 4) as running:
        contexts = [contextvars.copy_context() for _ in range(THREADS)]

        def draw(number: int) -> list[int]:
            assert current_step() is running
            if number == 0:
                generator.advance(5)
            return [generator.draw().number for _ in range(TIMES)]

        found = hammer(lambda number: contexts[number].run(draw, number))
        numbers = {*chain.from_iterable(found)}
        assert len(numbers) == THREADS * TIMES
        assert running.calls == {generator: THREADS * TIMES + 5}
        assert numbers < {*range(THREADS * TIMES + 5)}
