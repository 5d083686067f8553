"""Calls that repeat a call of an earlier step are not checked again, and give the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random
from gradiva.capture.loop.defer import defer_call
from tests.capture.loop.loops import make_folder, no_thread_is_left, open_reader, same

__all__ = ["no_thread_is_left"]

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("no_thread_is_left")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("loop"))


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators of the calls that are checked, in order."""
    found: list[str] = []

    def seen(step: Any, operator: Any, inputs: Any, keywords: Any) -> Any:
        found.append(operator.name)
        return defer_call(step, operator, inputs, keywords)

    monkeypatch.setattr("gradiva.capture.loop.captured_loop.defer_call", seen)
    return found


def image(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(12, 14))


def test_only_the_first_steps_check_a_call(folder: str, checked: list[str]) -> None:
    def body(files: Any, labels: Any, step: int) -> Iterable[Any]:
        return [gradiva.flip(image(files), horizontal=1, vertical=[1, 0][0])]

    same(folder, body, batch_size=2, epochs=3)
    # The first step is traced; then a call is checked once for each size of a batch.
    assert checked.count("flip") == 1 + 2


@pytest.mark.full
@pytest.mark.parametrize(
    "values",
    [
        [90, 90.0, True, np.float32(90), 90],
        [0.0, -0.0, 0, False],
        [(1.0, 2.0, 3.0), [1.0, 2.0, 3.0], (1, 2, 3), [1, 2, 3.0]],
        [2.0, [2.0, 3.0], np.array([2.0, 3.0], np.float32), 2.0],
        [float("nan"), -float("nan"), float("nan")],
    ],
)
def test_arguments_that_are_equal_but_not_the_same(folder: str, values: list[Any]) -> None:
    def body(files: Any, labels: Any, step: int) -> Iterable[Any]:
        value = values[step % len(values)]
        try:
            return [gradiva.cast(image(files), dtype=gradiva.float32) + value, repr(value)]
        except gradiva.GradivaError as error:
            return [str(error).partition("\n")[0].partition(" at ")[0]]

    def rotated(files: Any, labels: Any, step: int) -> Iterable[Any]:
        value = values[step % len(values)]
        try:
            return [gradiva.rotate(image(files), angle=value, fill_value=-0.0)]
        except gradiva.GradivaError as error:
            return [type(error).__name__]

    def padded(files: Any, labels: Any, step: int) -> Iterable[Any]:
        value = values[step % len(values)]
        try:
            images = gradiva.cast(image(files), dtype=gradiva.float32)
            return [gradiva.pad(images, shape=(13, 14, 3), fill_value=value)]
        except gradiva.GradivaError as error:
            return [type(error).__name__]

    for calls in (body, rotated, padded):
        same(folder, calls, batch_size=2, epochs=3)


def test_one_call_several_times_in_a_step(folder: str) -> None:
    def body(files: Any, labels: Any, step: int) -> Iterable[Any]:
        base = image(files)
        turns = [gradiva.flip(base, horizontal=1) for _ in range(3)]
        return [turns[0], turns[2], gradiva.flip(turns[1], horizontal=1)]

    same(folder, body, batch_size=3, epochs=3)


def test_what_is_written_into_a_value_is_seen(folder: str) -> None:
    reader = open_reader(folder)
    for _ in range(3):
        for step, (files, _) in enumerate(reader.next_epoch(batch_size=2, capture=True)):
            base = image(files)
            if step % 3 == 1:
                array = base.as_array()
                if array.flags.writeable:
                    array[:] = step
            flipped = gradiva.flip(base, horizontal=1).as_array()
            np.testing.assert_array_equal(flipped, base.as_array()[:, :, ::-1])


def test_random_calls_and_values_of_the_body_are_not_repeated(folder: str) -> None:
    def body(files: Any, labels: Any, step: int) -> Iterable[Any]:
        base = image(files)
        angle = random.uniform(batch_size=base.batch_size, range=[-9.0, 9.0])
        outside = gradiva.Batch(np.full((base.batch_size, 2), step, np.float32))
        turned = gradiva.rotate(base, angle=angle, fill_value=step % 3)
        return [turned, outside + 1, gradiva.flip(base, horizontal=step % 2)]

    same(folder, body, batch_size=2, epochs=3)


def test_a_call_with_wrong_arguments_is_refused_in_every_step(folder: str) -> None:
    reader, wrong = open_reader(folder), dict[str, Any](horizontally=1)
    for _ in range(2):
        for step, (files, _) in enumerate(reader.next_epoch(batch_size=2, capture=True)):
            base = image(files)
            gradiva.flip(base, horizontal=1)
            if step > 1:
                with pytest.raises(gradiva.OperatorTypeError, match="horizontally"):
                    gradiva.flip(base, **wrong)
