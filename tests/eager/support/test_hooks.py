"""Places that lower packages own and higher ones fill."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradiva.eager.support.hooks import Hook


def test_an_empty_place_says_what_is_missing() -> None:
    hook: Hook[Callable[[int], int]] = Hook("the double of a number", __name__)
    assert not hook.filled
    with pytest.raises(LookupError, match="the double of a number"):
        hook.get()


def test_what_was_put_there_last_is_there() -> None:
    hook: Hook[Callable[[int], int]] = Hook("the double of a number", __name__)
    hook.fill(lambda number: 2 * number + 1)
    hook.fill(lambda number: 2 * number)
    assert hook.filled
    assert hook.get()(4) == 8
