"""Warnings at the user's line: once for each line, unless the filters say otherwise."""

from __future__ import annotations

import warnings

import pytest

from gradiva.eager.support.user_warning import warn_user


def shown(times: int, topic: str | None, action: str = "default") -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        for number in range(times):
            warn_user(f"shape {number if topic else 'same'}", topic=topic)
    assert all(one.filename == __file__ for one in found)
    return [str(one.message) for one in found]


@pytest.mark.tiny
def test_once_for_each_line() -> None:
    assert shown(3, None) == ["shape same"]
    assert shown(3, None) == ["shape same"], "other filters, as of another test"
    assert len(shown(3, None, "always")) == 3
    assert shown(3, None, "ignore") == []


@pytest.mark.tiny
def test_texts_that_differ_about_one_topic() -> None:
    assert shown(3, "shapes") == ["shape 0"]
    assert len(shown(3, "shapes", "always")) == 3


@pytest.mark.tiny
def test_another_category() -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        warn_user("old", DeprecationWarning)
