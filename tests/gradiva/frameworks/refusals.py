"""What the iterators of all frameworks refuse alike: wrong maps of outputs, samples of several
shapes where one tensor is asked for, and pipelines that were closed. Each framework's tests call
this, for not all of them can be loaded into one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .pipelines import numbered, shapes_that_differ

__all__ = ["REFUSALS"]

Iterators = Callable[..., Any]
"""The class of a framework's dense iterators, called with a pipeline, the names, and options."""


def _wrong_maps(iterators: Iterators) -> None:
    wrong: Any
    for wrong in (["data"], ["data", "label", "more"], ["data", "data"], []):
        with pytest.raises((ValueError, AssertionError), match="`output_map`"):
            iterators(numbered(4, 2), wrong, reader_name="reader")
    for wrong in ("ab", 5):
        with pytest.raises((TypeError, AssertionError), match="`output_map`"):
            iterators(numbered(4, 2), wrong, reader_name="reader")


def _several_shapes(iterators: Iterators) -> None:
    with pytest.raises(ValueError, match=r"output 'x': .*different shapes"):
        next(iterators(shapes_that_differ(), ["x"]))


def _closed_pipelines(iterators: Iterators) -> None:
    """In the middle of an epoch, as often as it is tried; and from the beginning."""
    pipe = numbered(6, 2)
    loop = iterators(pipe, ["data", "label"], reader_name="reader")
    next(loop)
    pipe.close()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="this pipeline was closed"):
            next(loop)
    with pytest.raises(RuntimeError, match="this pipeline was closed"):
        iterators(pipe, ["data", "label"], reader_name="reader")


REFUSALS = pytest.mark.parametrize("refuse", [_wrong_maps, _several_shapes, _closed_pipelines])
