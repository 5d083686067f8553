"""What is shared between threads: pending calls, concrete inputs, programs that loops learn."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode
from gradiva.capture.loop import program_cache
from gradiva.capture.loop.compile import compile
from gradiva.capture.loop.concrete_inputs import ConcreteInput, concrete_input_of
from gradiva.capture.loop.pending import LazyBatch
from gradiva.capture.loop.program import LoopProgram
from gradiva.capture.recording.free_node import FreeCall
from gradiva.eager.operators.operator import operators
from gradiva.eager.types.device import CPU
from tests.hammer import THREADS, hammer

TIMES = 40


def images(count: int = 2) -> gradiva.Batch:
    return gradiva.batch(
        np.arange(count * 12, dtype=np.uint8).reshape(count, 2, 2, 3), layout="HWC"
    )


def test_a_batch_has_one_concrete_input() -> None:
    for _ in range(TIMES):
        batch = images()
        first, *others = hammer(lambda _, batch=batch: concrete_input_of(batch))  # type: ignore[misc]
        assert all(one is first for one in others)


def test_concrete_inputs_and_free_calls_have_numbers_of_their_own() -> None:
    batch, operator = images(), operators["flip"]
    found = hammer(lambda _: [ConcreteInput(batch).number for _ in range(TIMES)])
    assert len({*chain.from_iterable(found)}) == THREADS * TIMES
    found = hammer(lambda _: [FreeCall(operator, (), {}).number for _ in range(TIMES)])
    assert len({*chain.from_iterable(found)}) == THREADS * TIMES


def test_each_reader_of_a_pending_value_is_counted() -> None:
    with EvalMode.deferred:
        value = gradiva.flip(images())

    def work(_number: int) -> list[int]:
        with EvalMode.deferred:
            made = [gradiva.brightness(value, brightness=0.5) for _ in range(TIMES)]
        return [cast(LazyBatch, one).pending.serial for one in made]

    serials = [*chain.from_iterable(hammer(work))]
    assert len({*serials}) == THREADS * TIMES
    pending = cast(LazyBatch, value).pending
    assert pending.readers == {0: THREADS * TIMES}
    assert min(serials) > pending.serial


def test_pending_calls_of_several_threads_have_the_bits_of_calls_at_once() -> None:
    source = images()
    expected = [
        np.asarray(gradiva.brightness(gradiva.flip(source), brightness=k / 4).as_array())
        for k in range(4)
    ]
    with EvalMode.deferred:
        flipped = gradiva.flip(source)

    def work(number: int) -> bool:
        good = True
        for k in range(number, number + 8):
            with EvalMode.deferred:
                made = gradiva.brightness(flipped, brightness=k % 4 / 4)
            good &= np.array_equal(made.as_array(), expected[k % 4])
        return good

    assert all(hammer(work))


def test_a_program_may_learn_calls_while_another_thread_asks_for_their_gpus() -> None:
    program = LoopProgram(operators["flip"])
    calls = cast(dict[int, Any], program._calls)

    def work(number: int) -> bool:
        good = True
        for k in range(20 * TIMES):
            if number:
                good &= program._gpus() == set()
            else:
                calls[k] = SimpleNamespace(device=CPU)
                if k % 50 == 0:
                    calls.clear()
        return good

    assert all(hammer(work))


@pytest.mark.parametrize("place", ["_concrete_key", "_structure", "_graph"])
def test_a_pending_call_may_be_run_by_another_evaluator_meanwhile(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A value of deferred mode is read by one thread while a compiled function takes it."""
    source = images()
    expected = np.asarray(gradiva.brightness(gradiva.flip(source), brightness=0.5).as_array())
    with EvalMode.deferred:
        flipped = cast(LazyBatch, gradiva.flip(source))
    call = getattr(program_cache, place)
    taken: list[np.ndarray[Any, Any]] = []

    def meanwhile(*given: Any) -> Any:
        if not taken:
            monkeypatch.setattr(program_cache, place, call)
            taken.append(np.asarray(flipped.as_array()))
            assert not flipped.pending.inputs
        return call(*given)

    monkeypatch.setattr(program_cache, place, meanwhile)
    brighter = compile(lambda value: gradiva.brightness(value, brightness=0.5))
    made = brighter(flipped)
    assert np.array_equal(made.as_array(), expected)
    assert np.array_equal(taken[0], gradiva.flip(source).as_array())
