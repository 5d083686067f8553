"""The tiers of tests (CONTRIBUTING.md): what quick runs leave to `-m full`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["QUICK", "RARE", "SLOW_OPERATORS", "chosen", "examples", "few", "is_quick", "left_out"]

QUICK = "not full and not oracle and not gpu"
"""What pyproject.toml gives to `-m`, unless the command line does."""
_NOT_QUICK = frozenset(("full", "oracle", "gpu"))
RARE = frozenset(("tiny", "core", "oracle", "alone"))
"""Marks that most files have not: where one is asked for, the others need not be read."""

SLOW_OPERATORS = {
    "numba_function",
    "normalize",
    "gaussian_blur",
    "jitter_colors",
    "laplacian",
    "spectrogram",
    "power_spectrum",
    "random.beta",
    "experimental.remap",
    "reductions.max",
    "reductions.mean_square",
    "reductions.min",
    "reductions.rms",
    "reductions.std_dev",
    "reductions.sum",
    "reductions.variance",
    "noise.shot",
    "random_bbox_crop",
    "color_space_conversion",
    "resize_crop_mirror",
}
"""Operators whose kernels take seconds to compile: quick runs leave their cases out."""

_chosen = [QUICK]


def choose(expression: str) -> None:
    """Note what was given to `-m`."""
    _chosen[:] = [expression]


def chosen() -> str:
    """What was given to `-m`."""
    return _chosen[0]


def is_quick() -> bool:
    """Whether this run has the quick tests alone, or the tiny ones."""
    return _chosen[0] in (QUICK, "tiny")


def examples(count: int, quick: int = 0) -> int:
    """How many examples hypothesis draws: in quick runs so many, or a tenth."""
    return (quick or max(5, count // 10)) if is_quick() else count


def left_out(marks: Iterable[Any]) -> bool:
    """Whether a test with these marks is not in a quick run."""
    return is_quick() and any(mark.name in _NOT_QUICK for mark in marks)


def few(values: Iterable[Any], *chosen: Any, count: int = 0, every: int = 0) -> list[Any]:
    """The values for `pytest.mark.parametrize`: quick runs try those that are `chosen`, the first
    `count`, or one of `every` so many."""
    values = list(values)
    assert [bool(chosen), bool(count), bool(every)].count(True) == 1
    assert all(value in values for value in chosen), chosen
    quick = chosen or (values[::every] if every else values[:count])
    if is_quick():  # tests that are made and then left out take their time
        return [value for value in values if value in quick]
    return [
        value if value in quick else pytest.param(value, marks=pytest.mark.full) for value in values
    ]
