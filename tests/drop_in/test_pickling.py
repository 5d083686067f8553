"""Functions that go to worker processes with their code."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pickling
from gradiva.ops.external_source.workers import by_value

pytestmark = pytest.mark.core

FACTOR = 3


def at_the_top(value: float) -> float:
    """Times three."""
    return value * FACTOR


@pickling.pickle_by_value
def marked(value: float, power: int = 2, *, base: float = 1.0) -> float:
    """Powers."""
    return base + math.pow(value, power) + FACTOR


def again(value: Any) -> Any:
    return by_value.loads(by_value.dumps(value))


def counting() -> tuple[Callable[[], int], Callable[[], int]]:
    count = 0

    def more() -> int:
        nonlocal count
        count += 1
        return count

    def seen() -> int:
        return count

    return more, seen


def test_what_can_be_imported_goes_by_name() -> None:
    assert again(at_the_top) is at_the_top
    assert again(math.sqrt) is math.sqrt
    assert again(math) is math


def test_what_is_marked_goes_by_value() -> None:
    made = again(marked)
    assert made is not marked
    assert made(3.0) == marked(3.0) == 13.0
    assert made(2.0, 3, base=5.0) == 16.0
    assert (made.__name__, made.__doc__, made.__module__) == ("marked", "Powers.", __name__)
    assert made.__defaults__ == (2,)


def test_functions_within_functions() -> None:
    def factorial(number: int) -> int:
        return 1 if number < 2 else number * factorial(number - 1)

    assert again(factorial)(5) == 120
    assert again(lambda value: at_the_top(value) + 1)(2) == 7
    more, seen = again(counting())
    assert (more(), more(), seen()) == (1, 2, 2)
    empty = again([lambda: undefined])[0]  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(NameError):
        empty()


@pytest.mark.full
def test_in_another_process() -> None:
    """Where this module cannot be imported."""
    shift = 10
    data = by_value.dumps(lambda value: marked(value) + shift)
    code = (
        "import sys, gradiva.ops.external_source.workers.by_value as by_value;"
        "print(by_value.loads(bytes.fromhex(sys.argv[1]))(2.0), 'tests' in sys.modules)"
    )
    command = [sys.executable, "-c", code, data.hex()]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert run.stdout.split() == ["18.0", "False"], run.stderr


def test_what_is_no_function() -> None:
    for wrong in (3, math.sqrt, test_what_is_no_function.__class__):
        with pytest.raises(TypeError, match="pickle_by_value: expected a function") as caught:
            pickling.pickle_by_value(wrong)
        assert __file__ in str(caught.value)


@pytest.mark.full
def test_a_lambda_as_a_source_of_spawned_workers() -> None:
    shift = 5
    pipe = gradiva.Pipeline(2, 1, py_num_workers=1, py_start_method="spawn")
    with pipe:
        numbers = fn.external_source(
            lambda info: np.int64(info.idx_in_epoch + shift), parallel=True, batch=False
        )
        pipe.set_outputs(numbers)
    made = [np.asarray(pipe.run()[0]).tolist() for _ in range(2)]
    pipe.close()
    assert made == [[5, 6], [7, 8]]
