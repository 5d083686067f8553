"""Conditionals: what is refused, and what the errors say; functions that stay as they are."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.compat.dali.pipeline import do_not_convert
from gradiva.eager.support.errors import GradivaError, OperatorTypeError, OperatorValueError
from tests.capture.recording.conditionals import feed, graph_of, outputs_of, run


def numbers() -> Any:
    return feed(np.array([0, 1, 2, 3], np.int32))


def undefined(x: Any) -> Any:
    if x > 1:
        y = x
    return y


def undefined_in_body(x: Any) -> Any:
    if x > 1:
        x = x + 1
    else:
        y = x
    return y


def dtypes(x: Any) -> Any:
    if x > 1:
        y = x
    else:
        y = fn.cast(x, dtype=gradiva.float32)
    return y


def constants(x: Any) -> Any:
    y: Any = 1
    if x > 1:
        y = 2.5
    return y


def ranks(x: Any) -> Any:
    if x > 1:
        y = x + np.zeros(2, np.int32)
    else:
        y = x
    return y


def lengths(x: Any) -> Any:
    y: Any
    if x > 1:
        y = (x, x)
    else:
        y = (x,)
    return y


def keys(x: Any) -> Any:
    y = {"a": x} if x > 1 else {"b": x}
    return y["a"]


def inner_types(x: Any) -> Any:
    if x > 1:
        y = {"a": [x, 1]}
    else:
        y = {"a": [x, 1.5]}
    return y["a"][0]


def words(x: Any) -> Any:
    if x > 1:
        mode = "fast"
    else:
        mode = "slow"
    return fn.cast(x, dtype=mode)


def one_return(x: Any) -> Any:  # noqa: RET503
    if x > 1:
        return x


def breaks(x: Any) -> Any:
    for k in range(3):
        if x > k:
            break
    return x


def returns_in_loop(x: Any) -> Any:
    for k in range(3):
        if x > k:
            return x
    return x


def loops(x: Any) -> Any:
    while x > 1:
        x = x - 1
    return x


def leaks(x: Any) -> Any:
    found = []
    if x > 1:
        found.append(x + 1)
    return found[0] + x


def axes(x: Any) -> Any:
    if x + np.zeros(2, np.int32) > 1:
        x = x + 1
    return x


def not_axes(x: Any) -> Any:
    return not (x + np.zeros(2, np.int32))


def and_numbers(x: Any) -> Any:
    return x and x > 1


def or_right(x: Any) -> Any:
    return x > 1 or 3


def untyped_and(x: Any) -> Any:
    return feed(np.array([1, 0, 1, 1], np.int32), typed=False) and x > 1


def untyped_axes(x: Any) -> Any:
    if feed(np.zeros((4, 2), np.int32), typed=False):
        x = x + 1
    return x


def untyped_merge(x: Any) -> Any:
    if x > 1:
        y = x
    else:
        y = feed(np.zeros(4, np.float32), typed=False)
    return y


def divides(x: Any) -> Any:
    if x > 1:
        x = x // (x - 3)
    return x


CASES: list[tuple[Callable[[Any], Any], type[GradivaError], list[str]]] = [
    (undefined, OperatorTypeError, ["`y` has a value in one branch only", "is not true", "x > 1"]),
    (undefined_in_body, OperatorTypeError, ["`y` has a value in one branch only", "is true"]),
    (dtypes, OperatorTypeError, ["`y` (line", "in the other branch", "int32", "float32"]),
    (constants, OperatorTypeError, ["`y` (line", "as before the `if`", "int32", "float32"]),
    (ranks, OperatorTypeError, ["`y`", "ranks", "1-D", "0-D"]),
    (lengths, OperatorTypeError, ["`y`", "lengths", "2 and 1"]),
    (keys, OperatorTypeError, ["keys", "'a'", "'b'"]),
    (inner_types, OperatorTypeError, ["`y['a'][1]`", "int32", "float32"]),
    (words, OperatorTypeError, ["`mode`", "fast", "slow"]),
    (one_return, OperatorTypeError, ["one branch returns a value"]),
    (breaks, OperatorTypeError, ["`break`", "some of the samples"]),
    (returns_in_loop, OperatorTypeError, ["`return`"]),
    (loops, OperatorTypeError, ["while", "enable_conditionals=True"]),
    (leaks, OperatorTypeError, ["`add` belongs to one branch", "x > 1"]),
    (axes, OperatorTypeError, ["0-D samples", "1-D", "`labels[0] == 1`", "`label_shape=()`"]),
    (not_axes, OperatorTypeError, ["`not`", "1-D"]),
    (and_numbers, OperatorTypeError, ["`and`", "expected bool, got int32"]),
    (or_right, OperatorTypeError, ["`or`", "expected bool, got 3"]),
    (untyped_and, OperatorTypeError, ["`and` or `or`", "expected bool, got int32"]),
    (untyped_axes, OperatorTypeError, ["if: a condition", "1-D"]),
    (untyped_merge, OperatorTypeError, ["branches", "int32", "float32"]),
    (divides, OperatorValueError, ["zero"]),
]


@pytest.mark.parametrize(("function", "kind", "texts"), CASES, ids=[c[0].__name__ for c in CASES])
def test_errors(function: Callable[[Any], Any], kind: type[GradivaError], texts: list[str]) -> None:
    """The error says what is wrong, and shows the user's own file and line."""
    with pytest.raises(kind) as caught:
        run(graph_of(lambda: function(numbers())))
    text = str(caught.value)
    for part in texts:
        assert part in text
    location = caught.value.location
    assert location is not None
    assert location.code.co_filename == __file__
    lines, first = inspect.getsourcelines(function)
    assert first <= location.line < first + len(lines), text
    assert location.text


@pytest.mark.tiny
def test_error_names_the_sample_of_the_whole_batch() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)

    def crops() -> Any:
        images = feed([picture] * 3 + [picture[:2]], layout="HWC")
        if numbers() > 1:
            images = fn.crop(images, crop=(3, 3))
        return images

    with pytest.raises(GradivaError) as caught:
        run(graph_of(crops))
    assert caught.value.sample == 3


def test_values_that_nobody_uses_may_differ() -> None:
    def choose() -> Any:
        x = numbers()
        if x > 1:
            temporary, mode, y = x, "fast", x + 1
        else:
            temporary, mode = fn.cast(x, dtype=gradiva.float32), "slow"  # noqa: F841
            y = x
            only_here = y  # noqa: F841
        return y

    (output,) = outputs_of(choose)
    assert [int(one) for one in output] == [0, 1, 3, 4]


@pytest.mark.tiny
def test_without_conditionals() -> None:
    """The function stays as it is, and the error says what to do."""
    with pytest.raises(OperatorTypeError, match="enable_conditionals=True"):
        gradiva.pipeline_def(batch_size=4)(lambda: undefined(numbers()))()


@do_not_convert
def marked(x: Any) -> Any:
    return x if x > 1 else -x


@do_not_convert()
def marked_too(flag: bool) -> str:
    return "yes" if flag else "no"


@pytest.mark.tiny
def test_do_not_convert() -> None:
    """Marked functions stay as they are, what they call and lambdas within included."""

    def calls() -> Any:
        return marked(numbers())

    def inner() -> Any:
        @do_not_convert
        def function(x: Any) -> Any:
            return x if x > 1 else -x

        return function(numbers())

    for function in (calls, inner):
        with pytest.raises(OperatorTypeError, match="truth value"):
            graph_of(function)
    assert [marked(3), marked_too(True), do_not_convert(len)([1])] == [3, "yes", 1]

    @functools.wraps(marked)
    def wrapper(x: Any) -> Any:
        return x * 2 if x > 1 else x

    (output,) = outputs_of(lambda: wrapper(numbers()))
    assert [int(one) for one in output] == [0, 1, 4, 6]


@pytest.mark.tiny
def test_functions_without_source_warn() -> None:
    space: dict[str, Any] = {}
    exec("def hidden(x):\n    return x if x > 1 else -x\n\ndef plain(x):\n    return x", space)
    with (
        pytest.warns(UserWarning, match="the source of hidden cannot be read"),
        pytest.raises(OperatorTypeError, match="truth value"),
    ):
        graph_of(lambda: space["hidden"](numbers()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(graph_of(lambda: space["plain"](numbers()))) == 1


@pytest.mark.tiny
def test_lambdas_on_one_line() -> None:
    both = [lambda x: x if x > 1 else -x, lambda x: x if x > 2 else -x]
    calls = [lambda x: fn.copy(x) if x > 1 else -x, lambda x: fn.copy(x) if x > 2 else -x]
    inner: list[Any] = [lambda: lambda x: x if x > 1 else -x, lambda: lambda x: x if x > 2 else -x]
    # fmt: off
    lines = [lambda x:
x if x > 1 else -x, lambda x: x if x > 2 else -x]
    # fmt: on

    for first, second in (both, calls, [one() for one in inner], lines):

        def choose(first: Any = first, second: Any = second) -> Any:
            return first(numbers()), second(numbers())

        one, two = outputs_of(choose)
        assert [int(value) for value in one] == [0, -1, 2, 3]
        assert [int(value) for value in two] == [0, -1, -2, 3]


@pytest.mark.tiny
def test_the_functions_themselves_are_not_changed() -> None:
    """Globals, defaults and cells are those of the original; the original is as before."""
    count = 0

    def helper(x: Any, *, factor: int = 2) -> Any:
        nonlocal count
        count += 1
        return x * factor if x > 1 else x

    (output,) = outputs_of(lambda: helper(numbers(), factor=3))
    assert [int(one) for one in output] == [0, 1, 6, 9]
    assert (helper(5), count) == (10, 2)
    assert helper.__closure__ is not None
    assert "__gradiva__" not in helper.__code__.co_freevars


@pytest.mark.tiny
def test_sources_in_a_branch_are_read_for_all() -> None:
    """They stay in step: a sample has the same value, whoever takes the branch."""

    def choose() -> Any:
        x = numbers()
        if x > 1:
            y = fn.external_source(source=lambda: np.array([10, 11, 12, 13], np.int32))
        else:
            y = -1
        return y

    (output,) = outputs_of(choose)
    assert [int(one) for one in output] == [-1, -1, 12, 13]


@pytest.mark.tiny
def test_a_caught_error_ends_the_branch() -> None:
    def choose() -> Any:
        x = numbers()
        try:
            if x > 1:
                x = x + 1
                raise KeyError("for the user")
        except KeyError:
            pass
        return x + 1

    # As with any `try`, what was assigned before the error remains: a value of the branch alone.
    with pytest.raises(OperatorTypeError, match="belongs to one branch"):
        graph_of(choose)
