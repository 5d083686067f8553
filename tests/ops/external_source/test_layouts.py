"""Layouts of what an external source is given: one layout for all batches, and as declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, Pipeline, fn

pytestmark = pytest.mark.core

DATA = np.zeros((2, 3, 4), np.float32)


def fed(first: Any, second: Any, way: str, declared: str | None = None) -> list[str]:
    """The layouts of two batches that are fed: by the argument, or as batches that have one."""
    with Pipeline(2, 1, None, prefetch_queue_depth=1) as pipe:
        pipe.set_outputs(fn.external_source(name="fed", layout=declared))
        found = []
        for layout in (first, second):
            if way == "argument":
                pipe.feed_input("fed", DATA, layout=layout)
            else:
                pipe.feed_input("fed", gradiva.as_batch(DATA, layout=layout or ""))
            found.append(pipe.run()[0].layout())
        return found


def sourced(first: str, second: str, declared: str | None = None) -> list[str]:
    batches = [gradiva.as_batch(DATA, layout=layout) for layout in (first, second)]
    with Pipeline(2, 1, None) as pipe:
        pipe.set_outputs(fn.external_source(batches, layout=declared))
        return [pipe.run()[0].layout() for _ in batches]


WAYS = ["argument", "batch"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("second", ["WH", None])
def test_a_layout_that_changes_is_an_error(way: str, second: str | None) -> None:
    with pytest.raises(OperatorTypeError, match=r"another layout.*expected HW, as in the first"):
        fed("HW", second, way)
    with pytest.raises(RuntimeError, match="another layout"):
        sourced("HW", second or "")


@pytest.mark.parametrize("way", WAYS)
def test_a_layout_may_come_later(way: str) -> None:
    assert fed(None, "HW", way) == ["", "HW"]
    assert sourced("", "HW") == ["", "HW"]


@pytest.mark.parametrize("way", WAYS)
def test_data_that_are_fed_have_the_declared_layout(way: str) -> None:
    with pytest.raises(OperatorTypeError, match=r"another layout.*'WH', as declared.*'HW'"):
        fed("HW", "HW", way, "WH")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", [None, "", "HW"])
def test_the_declared_layout_is_that_of_data_without_one(way: str, layout: str | None) -> None:
    assert fed(layout, layout, way, "HW") == ["HW", "HW"]


def test_the_declared_layout_replaces_that_of_a_source() -> None:
    assert sourced("HW", "HW", "WH") == ["WH", "WH"]


def test_an_empty_batch_has_no_say() -> None:
    batches = [
        gradiva.as_batch(DATA, layout="HW"),
        gradiva.as_batch(DATA[:0], layout="WH"),
        gradiva.as_batch(DATA, layout="HW"),
    ]
    with Pipeline(2, 1, None) as pipe:
        pipe.set_outputs(fn.external_source(batches))
        assert [len(pipe.run()[0]) for _ in batches] == [2, 0, 2]
