"""`Row`: what a comparison found for one step, or for the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .step import Array

__all__ = ["Row", "Sight"]


@dataclass
class Sight:
    """An image for which a step differs the most, for the picture: its name, what both made of
    it."""

    name: str
    layout: str
    ours: Array
    theirs: Array


@dataclass
class Row:
    """A step, or the whole, on all images.

    title, promise: of the step. lines: the source code. compared: images of which both sides were
    compared; equal: those with the same bits. largest: the largest difference, 0 if all bits are
    equal; share: the part of the values that differ. problem: why nothing could be compared, or
    what differs besides values, such as the shape. worst: the image that differs the most.
    """

    title: str
    promise: str
    bound: float | None
    lines: tuple[str, ...] = ()
    compared: int = 0
    equal: int = 0
    largest: float = 0.0
    problem: str = ""
    worst: Sight | None = None
    _values: int = field(default=0, repr=False)
    _differing: int = field(default=0, repr=False)

    @property
    def share(self) -> float:
        """The part of all values that differ, from 0 to 1."""
        return self._differing / self._values if self._values else 0.0

    @property
    def kept(self) -> bool:
        """Whether the result is as promised."""
        if self.problem and self.compared:
            return False
        return self.bound is None or not self.compared or self.largest <= self.bound

    @property
    def result(self) -> str:
        """What was found, in words."""
        if self.problem:
            return self.problem
        if not self.compared:
            return "not compared"
        if self.equal == self.compared:
            return "exact"
        return f"largest difference {self.largest:.4g}, in {self.share:.2%} of the values"

    def add(self, name: str, ours: Sequence[Array], theirs: Sequence[Array], layout: str) -> None:
        """Compare the outputs for one image."""
        self.compared += 1
        if len(ours) != len(theirs):
            self.problem = f"{len(ours)} outputs, the original has {len(theirs)}"
            return
        same = True
        for one, other in zip(ours, theirs, strict=True):
            if one.shape != other.shape or one.dtype != other.dtype:
                self.problem = (
                    f"{name}: {one.dtype} {one.shape}, the original has {other.dtype} {other.shape}"
                )
                return
            unequal = (one != other) & ~((one != one) & (other != other))
            count = int(np.count_nonzero(unequal))
            self._values += one.size
            self._differing += count
            if not count:
                continue
            same = False
            apart = np.abs(one[unequal].astype(np.float64) - other[unequal].astype(np.float64))
            largest = float(np.nan_to_num(apart, nan=np.inf).max())
            if largest > self.largest or self.worst is None:
                self.worst = Sight(name, layout, one, other)
            self.largest = max(self.largest, largest)
        self.equal += same
