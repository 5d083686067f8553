"""What is left of an error that holds no frames: its places, and what it says."""

from __future__ import annotations

import builtins
import dataclasses
import sys
import traceback
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.support.errors import OperatorRuntimeError, fresh, without_frames

IMAGE = np.zeros((9, 9), np.uint8)


def frames(error: BaseException | None) -> list[FrameType]:
    assert error is not None
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def is_bare(error: BaseException | None) -> bool:
    """Whether there are places, and no variables."""
    found = frames(error)
    return bool(found) and not any(frame.f_locals or frame.f_back for frame in found)


def test_places_of_a_callback_are_shown() -> None:
    def clumsy(image: Any) -> Any:
        try:
            return {}[image.ndim]
        except KeyError:
            raise ValueError("no such image") from None

    with pytest.raises(OperatorRuntimeError) as caught:
        gradiva.python_function(IMAGE, function=clumsy)
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert is_bare(cause)
    place = frames(cause)[-1].f_code
    assert (place.co_name, place.co_filename) == ("clumsy", __file__)
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count('raise ValueError("no such image") from None') == 2  # text, and traceback
    assert "return {}[image.ndim]" not in shown


def test_what_a_callback_was_handling_is_shown() -> None:
    def clumsy(image: Any) -> Any:
        try:
            return {}[image.ndim]
        except KeyError as error:
            raise ValueError("no such image") from error

    with pytest.raises(OperatorRuntimeError) as caught:
        gradiva.python_function(IMAGE, function=clumsy)
    assert caught.value.__cause__ is not None
    assert is_bare(caught.value.__cause__.__cause__)
    assert "return {}[image.ndim]" in "".join(traceback.format_exception(caught.value))


def broken(image: Any) -> Any:
    raise KeyError("mine")


def test_what_the_caller_is_handling_stays_as_it_is() -> None:
    local = object()
    with pytest.raises(KeyError) as handled:  # noqa: PT012  both errors are looked at
        try:
            raise KeyError("of the user's")
        except KeyError:
            with pytest.raises(OperatorRuntimeError) as caught:
                gradiva.python_function(IMAGE, function=broken)
            raise
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__context__ is handled.value
    assert is_bare(caught.value.__cause__)
    assert frames(handled.value)[0].f_locals["local"] is local


def deep(more: int) -> None:
    value = np.zeros(3)
    if more:
        deep(more - 1)
    raise ValueError(
        "in several lines, which the formatter would join if they were shorter than this", value
    )


def from_deep(number: int) -> None:
    try:
        deep(0)
    except ValueError as error:
        raise FrozenError(number) from error


def told(error: BaseException) -> list[Any]:
    entries = traceback.extract_tb(error.__traceback__)
    return [(entry.filename, entry.name, entry.lineno, entry.line) for entry in entries]


def test_places_are_told_as_before() -> None:
    with pytest.raises(ValueError, match="several") as caught:
        deep(2)
    error, places = caught.value, told(caught.value)
    assert without_frames(error) is error
    assert is_bare(error)
    assert told(error) == places
    assert [frame.f_globals["__name__"] for frame in frames(error)] == [__name__] * 4
    # Nothing but the lines: no empty ones, nothing underlined.
    text = traceback.format_exception(error)
    assert len("".join(text).splitlines()) == 2 * len(places) + 2


def test_the_interpreter_shows_them_too(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="several") as caught:
        deep(1)
    error = without_frames(caught.value)
    sys.__excepthook__(type(error), error, error.__traceback__)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[2].strip() == "deep(1)"
    assert lines[4].strip() == "deep(more - 1)"
    assert lines[6].strip() == "raise ValueError("
    assert lines[7].startswith("ValueError: ")
    assert len(lines) == 8


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    """One that attributes cannot be set on."""

    number: int


def test_errors_that_refuse_changes() -> None:
    error = FrozenError(7)
    try:
        from_deep(7)
    except FrozenError as caught:
        error = without_frames(caught)
    assert error == FrozenError(7)
    assert is_bare(error)
    assert is_bare(error.__cause__)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_groups_of_errors() -> None:
    parts = []
    for more in range(2):
        with pytest.raises(ValueError, match="several") as caught:
            deep(more)
        parts.append(caught.value)
    group: Any = builtins.ExceptionGroup  # type: ignore[attr-defined,unused-ignore]
    error = without_frames(group("two", parts))
    assert error.exceptions == tuple(parts)
    assert all(map(is_bare, parts))


def test_an_error_again() -> None:
    wrong: Any = "large"
    with pytest.raises(gradiva.OperatorTypeError) as caught:
        gradiva.crop(np.zeros((9, 9, 3), np.uint8), crop=wrong)
    error = caught.value
    error.__cause__ = KeyError(1)
    again = fresh(error)
    assert again is not error
    assert (type(again), str(again), again.args) == (type(error), str(error), error.args)
    assert again.__cause__ is error.__cause__
    assert again.__traceback__ is None
