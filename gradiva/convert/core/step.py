"""`Step`: one step of another package's preprocessing, and the calls that do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Array", "Original", "Step"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """One step, or several that one call of gradiva does together.

    title: the step as the other package writes it, with its parameters.
    lines: the source code: statements that read the outputs of the step before, and assign its own.
    outputs: the names of the values that exist after the step.
    layout: of the first output in gradiva.
    bound: the largest difference to the original, in units of the values; 0 if the bits are equal,
        None if nothing is promised.
    note: what is to be said about the difference.
    random: whether the step draws values: distributions are equal, values are not.
    python: whether the step runs in `python_function`, for it has no counterpart.
    original: from one image to the next in the other package, where it can be called step by step.
    arrays: the result of `original` as arrays, one for each output, where `Original.array` does not
        do for it.
    objects: what the lines refer to besides modules.
    """

    title: str
    lines: tuple[str, ...]
    outputs: tuple[str, ...] = ("images",)
    layout: str = "HWC"
    bound: float | None = 0.0
    note: str = ""
    random: bool = False
    python: bool = False
    original: Callable[[Any], Any] | None = None
    arrays: Callable[[Any], tuple[Array, ...]] | None = None
    objects: Mapping[str, Any] = field(default_factory=dict)

    @property
    def promise(self) -> str:
        """What is promised about the result, in words."""
        if self.random:
            return "random"
        if self.bound is None:
            return self.note or "no promise"
        return "exact" if self.bound == 0 else f"within {self.bound:.3g}"


@dataclass(frozen=True)
class Original:
    """How the other package runs, for comparisons.

    package: its name; version: of the one that is installed, None without it.
    begin: what it takes for a decoded image, (H, W, 3), uint8, RGB.
    array: the value of a step as an array in this layout, as gradiva has it.
    whole: all of it at once, from what `begin` returns; None where the steps say everything.
    arrays: what `whole` returns, as one array for each output; `array` of it by default.
    together: in place of `whole`, from all of a batch to its results, where images depend on each
        other, as those that are padded to one size.
    """

    package: str
    version: Callable[[], str | None]
    begin: Callable[[Array], Any]
    array: Callable[[Any, str], Array]
    whole: Callable[[Any], Any] | None = None
    arrays: Callable[[Any], tuple[Array, ...]] | None = None
    together: Callable[[Sequence[Any]], Sequence[Any]] | None = None
