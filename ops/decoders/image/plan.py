"""What the shape rules of the image decoders find in the headers of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import ImageInfo, Window


class Headers:
    """The headers of a batch. Files of one sort and size share one, of which things are asked
    once."""

    def __init__(self, infos: list[ImageInfo]) -> None:
        of_each = list(map(id, infos))
        different = dict(zip(of_each, infos, strict=True))
        self._different = list(different.values())
        numbers = {key: number for number, key in enumerate(different)}
        self._numbers = [numbers[key] for key in of_each]

    def each(self, function: Callable[[ImageInfo], Any]) -> list[Any]:
        """What the function says of each."""
        found = list(map(function, self._different))
        return [found[number] for number in self._numbers]

    def rows(self, function: Callable[[ImageInfo], tuple[int, ...]], columns: int) -> op.Int64Array:
        """The same as rows of integers."""
        found = np.array(list(map(function, self._different)), np.int64).reshape(-1, columns)
        return found[self._numbers]


@dataclass(frozen=True)
class DecodePlan(op.Plan):
    """infos: what the headers say, and `headers` the same; windows: (top, left, height, width) of
    what is decoded of each upright image, None for whole images; colors: what `direct_colors` has
    found, once it was asked."""

    infos: list[ImageInfo]
    headers: Headers
    windows: list[Window] | None = None
    colors: list[str | None] = field(default_factory=list)

    @classmethod
    def of(cls, call: op.Call) -> DecodePlan:
        """The plan of a call, after its shape rule."""
        assert isinstance(call.plan, cls)
        return call.plan
