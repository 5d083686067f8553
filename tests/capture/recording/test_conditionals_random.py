"""Conditionals: random values in branches, and random programs against plain Python."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn
from gradiva.eager.support.errors import OperatorTypeError
from tests.capture.recording.conditionals import feed, outputs_of
from tests.tiers import examples, few

COUNT = 24
CHOICES = np.random.default_rng(4).integers(0, 3, COUNT).astype(np.int32)


def _choices(size: int) -> Any:
    batches = [CHOICES[first : first + size] for first in range(0, COUNT, size)]
    return fn.external_source(source=batches, dtype="int32", ndim=0)


def _values(define: Callable[[], Any], size: int, threads: int = 2, depth: int = 2) -> list[Any]:
    """Each output of all batches, as one list of samples."""
    decorated = gradiva.pipeline_def(
        batch_size=size,
        num_threads=threads,
        prefetch_queue_depth=depth,
        seed=11,
        enable_conditionals=True,
    )(define)
    pipe = decorated()
    batches = list(pipe)
    pipe.close()
    return [
        [one.copy() for batch in batches for one in batch[number].arrays()]
        for number in range(len(batches[0]))
    ]


def _draws(calls: tuple[int, ...]) -> list[Any]:
    """Random calls of several kinds, those of these numbers."""
    like = np.zeros(3, np.float32)
    makers: list[Callable[[], Any]] = [
        lambda: fn.random.uniform(range=(-1.0, 1.0)),
        lambda: fn.random.normal(mean=3.0),
        lambda: fn.random.uniform(shape=(2,), seed=99),
        lambda: fn.random.normal(gradiva.as_tensor(like)),
        lambda: fn.random.coin_flip(probability=0.3) * 1.0,
    ]
    return [makers[call]() for call in calls]


@pytest.mark.parametrize("size", [1, 5, 24])
def test_values_do_not_depend_on_who_takes_the_branch(size: int) -> None:
    """They are those of a pipeline without conditions, whatever the batch size."""

    def plain() -> Any:
        choice = _choices(COUNT)
        first = _draws((0, 1, 2))
        deep = _draws((0, 4))
        second = _draws((1, 0, 2))
        return choice, *first, *deep, *second, fn.random.uniform()

    def branching() -> Any:
        choice = _choices(size)
        if choice > 0:
            a, b, c = _draws((0, 1, 2))
            if choice > 1:
                a, b = _draws((0, 4))
        else:
            a, b, c = _draws((1, 0, 2))
        return a, b, c, fn.random.uniform()

    choice, *drawn, after = _values(plain, COUNT)
    first, deep, second = drawn[:3], drawn[3:5], drawn[5:]
    found = _values(branching, size)
    for sample in range(COUNT):
        chosen = first if choice[sample] > 0 else second
        expected = [one[sample] for one in chosen]
        if choice[sample] > 1:
            expected[:2] = [one[sample] for one in deep]
        for got, wanted in zip(found, [*expected, after[sample]], strict=True):
            np.testing.assert_array_equal(got[sample], wanted)


def test_threads_and_depth() -> None:
    def branching() -> Any:
        choice = _choices(5)
        value = choice * 1.0
        if choice > 0 and fn.random.coin_flip(probability=0.5, dtype="bool"):
            value = fn.random.normal()
        return value

    first, *others = (
        _values(branching, 5, threads, depth) for threads, depth in ((1, 1), (3, 1), (2, 6))
    )
    for other in others:
        assert [one.tobytes() for one in other[0]] == [one.tobytes() for one in first[0]]


def test_a_value_for_the_whole_batch_is_the_same_in_a_branch() -> None:
    """A random call of dynamic mode without `batch_size` makes one value for all samples."""

    def plain() -> Any:
        return _choices(8), gradiva.random.uniform()

    def branching() -> Any:
        choice = _choices(8)
        value = gradiva.random.uniform() if choice > 0 else -1.0
        return choice, value

    _, expected = _values(plain, 8)
    choice, found = _values(branching, 8)
    for sample in range(COUNT):
        assert found[sample] == (expected[sample] if choice[sample] > 0 else -1.0)


# Random programs

NAMES = ("a", "b", "c")


@st.composite
def operands(draw: st.DrawFn) -> str:
    return draw(st.sampled_from([*NAMES, *NAMES, "0", "1", "2", "5"]))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 6 if depth else 2))
    if kind <= 2:
        operator = draw(st.sampled_from(["<", "<=", "==", "!=", ">"]))
        return f"{draw(operands())} {operator} {draw(operands())}"
    if kind == 3:
        return f"{draw(operands())} < {draw(operands())} <= {draw(operands())}"
    if kind == 4:
        return f"(not ({draw(conditions(depth - 1))}))"
    word = "and" if kind == 5 else "or"
    return f"({draw(conditions(depth - 1))} {word} {draw(conditions(depth - 1))})"


@st.composite
def expressions(draw: st.DrawFn) -> str:
    left, right = draw(operands()), draw(operands())
    made = f"{left} {draw(st.sampled_from('+-*^'))} {right}"
    if draw(st.integers(0, 3)) == 0:
        made = f"({made} if {draw(conditions())} else {draw(operands())})"
    return f"({made}) & 1023"


@st.composite
def blocks(draw: st.DrawFn, depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 5 if depth else 1))
        if kind <= 1:
            lines.append(f"{draw(st.sampled_from(NAMES))} = {draw(expressions())}")
        elif kind == 2:
            lines.append(f"{draw(st.sampled_from(NAMES))} += {draw(operands())}")
        else:
            lines.append(f"if {draw(conditions())}:")
            lines += _indented(draw(blocks(depth - 1)))
            if draw(st.booleans()):
                lines.append(f"elif {draw(conditions())}:")
                lines += _indented(draw(blocks(depth - 1)))
            if draw(st.booleans()):
                lines.append("else:")
                lines += _indented(draw(blocks(depth - 1)))
    if depth < 3 and draw(st.integers(0, 5)) == 0:
        lines.append("return b, a, c")
    return lines


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _function(lines: list[str]) -> Any:
    """The function, with its source where Python looks for that of a file."""
    text = "\n".join(["def program(a, b, c):", *_indented(lines), "    return a, b, c", ""])
    name = f"program-{hash(text)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return space["program"]


DATA = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=7)


def _check(lines: list[str], data: list[tuple[int, int, int]]) -> None:
    """Nested conditions over arithmetic, against the same program on the numbers."""
    program = _function(lines)
    columns = np.array(data, np.int32).T
    try:
        outputs = outputs_of(lambda: program(*map(feed, columns)), len(data))
    except OperatorTypeError as error:
        # Too many ways through the function to write them all out.
        assume("`return` cannot leave" not in str(error))
        raise
    for sample, numbers in enumerate(data):
        expected = program(*map(int, numbers))
        assert [int(output[sample]) for output in outputs] == list(map(int, expected))


def _guards(count: int, condition: str) -> list[str]:
    return [f"if {condition.format(one)}: return a, {one}, c" for one in range(count)]


@pytest.mark.parametrize("count", few([12, 19, 40], 12))
def test_many_early_returns(count: int) -> None:
    """Python compiles 20 blocks within each other; each early return would be one more."""
    data = [(one % 5, 2, one) for one in range(6)]
    _check([*_guards(count, "6 == {}"), "if a == 3: return c, a, b", "b += 1"], data)
    _check(["for c in range(3):", *_indented(_guards(count, "6 == {}")), "b += a * c"], data)
    program = _function([*_guards(count, "a == {}"), "b += 1"])
    columns = np.array(data, np.int32).T
    if count < 18:
        outputs = outputs_of(lambda: program(*map(feed, columns)), len(data))
        assert [int(one) for one in outputs[1]] == [a for a, _, _ in data]
    else:
        with pytest.raises(OperatorTypeError, match="`return` cannot leave"):
            outputs_of(lambda: program(*map(feed, columns)), len(data))


def test_blocks_within_each_other() -> None:
    """What Python cannot compile with our blocks in it stays as it is, and says so."""
    lines = [f"{'    ' * depth}if 6 != {depth + 7}:" for depth in range(40)]
    program = _function([*lines, "    " * 40 + "b += a"])
    columns = np.array([(1, 2, 3)], np.int32).T
    with pytest.warns(UserWarning, match="about 20 blocks"):
        outputs = outputs_of(lambda: program(*map(feed, columns)), 1)
    assert int(outputs[1][0]) == 3


@settings(
    max_examples=examples(25), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
@given(lines=blocks(3), data=DATA)
def test_random_programs(lines: list[str], data: list[tuple[int, int, int]]) -> None:
    _check(lines, data)


@pytest.mark.full
@settings(max_examples=80, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(lines=blocks(3), data=DATA)
def test_many_random_programs(lines: list[str], data: list[tuple[int, int, int]]) -> None:
    _check(lines, data)
