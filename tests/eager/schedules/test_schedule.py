"""Schedules by themselves: their values, their text, and what is refused."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorTypeError, OperatorValueError
from gradiva.capture.compiler.code_digests import code_of_function

pytestmark = pytest.mark.tiny

POINTS = {0: 128, 10: 192, 30: 224}


def test_linear_between_the_points_and_constant_outside() -> None:
    size = gradiva.schedule({2: 10, 6: 20, 7: 0})
    places = [0, 2, 3, 5, 6, 6.5, 7, 100]
    wanted = np.interp(places, [2, 6, 7], [10, 20, 0])
    assert [size.at(place) for place in places] == wanted.tolist()


def test_steps_hold_the_last_point_and_stay_integers() -> None:
    size = gradiva.schedule(POINTS, mode="step")
    found = [size.at(epoch=epoch) for epoch in (0, 9, 10, 29, 30, 1000)]
    assert found == [128, 128, 192, 192, 224, 224]
    assert all(type(value) is int for value in found)


def test_cosine_is_half_a_wave() -> None:
    rate = gradiva.schedule({0: 1.0, 8: 3.0}, per="step", mode="cosine")
    for step in range(9):
        wanted = 1 + (1 - math.cos(math.pi * step / 8))
        assert rate.at(step=step) == pytest.approx(wanted, rel=1e-15)
    assert (rate.at(step=0), rate.at(step=8), rate.at(step=9)) == (1.0, 3.0, 3.0)


@pytest.mark.parametrize(
    "points",
    [
        POINTS,
        list(POINTS.items()),
        tuple(map(list, POINTS.items())),
        np.array(list(POINTS.items())),
        (np.array([*POINTS]), np.array([*POINTS.values()])),
        {float(place): np.int64(value) for place, value in POINTS.items()},
    ],
)
def test_forms_of_points(points: Any) -> None:
    assert gradiva.schedule(points) == gradiva.schedule(POINTS)
    assert hash(gradiva.schedule(points)) == hash(gradiva.schedule(POINTS))


def test_tuples() -> None:
    size = gradiva.schedule({0: (100, 50), 10: (200, 150)})
    assert size.at(5) == (150.0, 100.0)
    same = gradiva.schedule(np.array([[0, 100, 50], [10, 200, 150]]))
    assert same.at(5) == (150.0, 100.0)
    one = gradiva.schedule({0: [3.5]})
    assert one.at(5) == (3.5,)


def test_one_point_is_a_constant() -> None:
    assert gradiva.schedule({4: 7}).at(0) == gradiva.schedule({4: 7}).at(9) == 7


def test_samples_have_values_of_their_own() -> None:
    strength = gradiva.schedule({0: 0.0, 100: 1.0}, per="sample")
    np.testing.assert_array_equal(strength.at(sample=[0, 25, 100, 200]), [0, 0.25, 1, 1])
    assert strength.at(sample=50) == 0.5
    pairs = gradiva.schedule({0: (0, 1), 10: (10, 2)}, per="sample", mode="step")
    np.testing.assert_array_equal(pairs.at(sample=[9, 10]), [[0, 1], [10, 2]])


def test_functions_get_whole_numbers() -> None:
    given: list[Any] = []

    def warmup(step: int) -> float:
        given.append(step)
        return min(1.0, step / 4)

    rate = gradiva.schedule(warmup, per="step")
    assert [rate.at(step=step) for step in (0, 1, 8)] == [0.0, 0.25, 1.0]
    assert all(type(step) is int for step in given)
    assert "warmup" in repr(rate)


def test_arithmetic_with_numbers_and_schedules() -> None:
    one = gradiva.schedule({0: 2, 10: 12}, mode="step")
    other = gradiva.schedule({0: 1.0, 4: 3.0}, per="step")
    made = -(2 * one + 1) / other - abs(one - 20) ** 2 + 7 // one + one % 3
    value = made.at(epoch=10, step=2)
    assert value == -(2 * 12 + 1) / 2.0 - 8**2 + 7 // 12 + 12 % 3
    assert type((2 * one - 1).at(0)) is int
    assert (gradiva.schedule({0: (1, 2)}) * 2).at(0) == (2, 4)
    assert (gradiva.schedule({0: (1, 2)}) * (2, 3)).at(0) == (2, 6)
    assert (np.float64(2) * one).at(0) == 4
    assert (np.array([1.0, 2.0]) + one).at(0) == (3.0, 4.0)
    mixed = gradiva.schedule({0: 0.0, 10: 1.0}, per="sample") * one
    np.testing.assert_array_equal(mixed.at(10, sample=[0, 5]), [0, 6])


def test_equal_schedules_are_equal_keys() -> None:
    def make(width: float) -> Any:
        return gradiva.schedule(lambda epoch: epoch * width)

    assert make(2.0) == make(2.0)
    assert hash(make(2.0)) == hash(make(2.0))
    assert make(2.0) != make(3.0)
    assert gradiva.schedule({0: 1}) != gradiva.schedule({0: 1.0})
    assert gradiva.schedule({0: 1}) != gradiva.schedule({0: 1}, per="step")
    assert gradiva.schedule({0: 1}) != gradiva.schedule({0: 1}, mode="step")
    assert 2 * gradiva.schedule({0: 1}) != gradiva.schedule({0: 1}) + 2


def test_fingerprints_tell_functions_apart() -> None:
    def doubled(epoch: int) -> float:
        return 2.0 * epoch

    def other(epoch: int) -> float:
        return 3.0 * epoch

    assert code_of_function(doubled) != code_of_function(other)
    text = gradiva.schedule(doubled).rule.fingerprint
    assert code_of_function(doubled) in text
    assert "0x" not in text


def test_they_are_shown_as_text_and_as_a_curve() -> None:
    size = gradiva.schedule({0: (8, 4), 10: (16, 8)}, mode="step")
    assert repr(size) == "schedule({0: (8, 4), 10: (16, 8)}, per='epoch', mode='step')"
    picture = size._repr_html_()
    assert picture.count("<path") == 3  # two curves and the axes
    assert "epoch 11" in picture
    assert "<svg" in gradiva.schedule(lambda step: step, per="step")._repr_html_()
    assert "<svg" in gradiva.schedule({0: 1, 9: 2}, per="sample")._repr_html_()
    two = size * gradiva.schedule({0: 1}, per="step")
    assert "<svg" not in two._repr_html_()


def test_they_can_be_pickled() -> None:
    for one in (gradiva.schedule(POINTS), 2 * gradiva.schedule(POINTS, per="sample")):
        assert pickle.loads(pickle.dumps(one)) == one


def fails(place: int) -> float:
    raise KeyError("nothing there")


def texts(place: int) -> Any:
    return "large"


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({}, "at least one point"),
        ([], "at least one point"),
        ({0: 1, 10: 2, 5: 3}, "increase"),
        ([(0, 1), (0, 2)], "increase"),
        ({0: 1, math.nan: 2}, "places that are numbers"),
        ({-1: 1}, "from 0 on"),
        ({math.inf: 1}, "from 0 on"),
        ({"0": 1}, "from 0 on"),
        ({0: math.nan}, "finite"),
        ({0: math.inf}, "finite"),
        ({0: "large"}, "numbers"),
        ({0: None}, "numbers"),
        ({0: 1j}, "numbers"),
        ({0: ()}, "numbers"),
        ({0: ((1, 2), (3, 4))}, "numbers"),
        ({0: (1, 2), 5: (1, 2, 3)}, "one length"),
        ({0: 1, 5: (1,)}, "one length"),
        ({0: (1, (2, 3))}, "numbers"),
        ([1, 2], "pairs"),
        ([(1, 2, 3)], "pairs"),
        (np.zeros(3), "an array"),
        (np.zeros((3, 1)), "an array"),
        ((np.arange(3), np.arange(2)), "as many values"),
        (7, "a dict"),
        ("epoch", "a dict"),
        (None, "a dict"),
        (texts, "a finite number"),
    ],
)
def test_bad_points(points: Any, said: str) -> None:
    with pytest.raises((OperatorTypeError, OperatorValueError), match=said) as caught:
        gradiva.schedule(points)
    assert caught.value.argument == "points"
    assert "schedule" in str(caught.value)
    assert caught.value.location is not None


def test_functions_that_raise_or_return_nonsense() -> None:
    with pytest.raises(OperatorRuntimeError, match="fails, raised KeyError for epoch 0"):
        gradiva.schedule(fails)
    changing: Callable[[int], Any] = lambda epoch: 1.0 if epoch < 3 else (1, 2)  # noqa: E731
    with pytest.raises(OperatorTypeError, match="returned the wrong thing for epoch 3"):
        gradiva.schedule(changing).at(3)
    with pytest.raises(OperatorTypeError, match="finite number"):
        gradiva.schedule(lambda epoch: math.nan if epoch else 0.0).at(1)


def test_bad_options() -> None:
    for given in ({"per": "batch"}, {"per": None}, {"mode": "cubic"}, {"mode": None}):
        (name,) = given
        with pytest.raises(OperatorValueError) as caught:
            gradiva.schedule(POINTS, **given)
        assert caught.value.argument == name
    with pytest.raises(OperatorValueError, match="none for a function"):
        gradiva.schedule(lambda epoch: epoch, mode="step")
    with pytest.raises(OperatorTypeError, match="a schedule"):
        gradiva.schedule(gradiva.schedule(POINTS))


def test_at_asks_for_what_is_needed() -> None:
    both = gradiva.schedule(POINTS) * gradiva.schedule({0: 1}, per="step")
    with pytest.raises(OperatorValueError, match="the step at which"):
        both.at(3)
    for place in (-1, math.nan, "3", [1, 2]):
        with pytest.raises(OperatorValueError, match="from 0 on"):
            both.at(place, step=0)


def test_they_are_no_numbers() -> None:
    size = gradiva.schedule(POINTS)
    for use in (bool, int, float, np.asarray, round, lambda one: one < 3, np.sin):
        with pytest.raises(OperatorTypeError, match=r"\.at\(epoch=\.\.\.\)"):
            use(size)
    with pytest.raises(OperatorTypeError, match="a finite number"):
        size * "3"
    with pytest.raises(OperatorValueError, match="no finite number"):
        (1 / gradiva.schedule({0: 0, 3: 1})).at(0)


def test_steps_by_hand_say_the_epoch() -> None:
    with gradiva.step(40, 8, epoch=3) as step:
        assert step.progress is not None
        assert (step.progress.epoch, step.progress.step) == (3, 5)
        with gradiva.step(number=9) as inner:
            assert inner.progress is not None
            assert (inner.progress.epoch, inner.progress.step) == (3, 9)
    for given in ({"epoch": -1}, {"number": -1}, {"first_position": -1}, {"batch_size": -1}):
        with pytest.raises(OperatorValueError, match="from 0 on"), gradiva.step(**given):
            pass
    with pytest.raises(OperatorTypeError, match="epoch"), gradiva.step(epoch=1.5):  # type: ignore[arg-type]
        pass
