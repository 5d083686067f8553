"""What a transform is given: images, and whose arithmetic they get.

The layout decides: images of layout HWC get the arithmetic that torchvision has for images of
Pillow, those of layout CHW that for tensors. So `PILToTensor` and `ToPILImage` are no more than a
change of the layout, and a transform is a function of batches, in all modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradiva.auto_aug.bins import per_sample
from gradiva.auto_aug.selection import select
from gradiva.capture.recording.free_calls import per_recorded_sample as for_each_sample
from gradiva.eager.support.errors import OperatorTypeError, describe, user_location
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.ops.indexing.properties import shapes
from gradiva.ops.random.uniform import coin_flip, uniform

__all__ = ["Pixels", "at_random", "change_some", "choose", "drawn", "drawn_integer", "pixels_of"]


@dataclass(frozen=True)
class Pixels:
    """data: a batch, or the symbol of one; layout: "HWC" or "CHW"; channels: how many all images
    have, None where that is not known before the graph runs."""

    data: Any
    layout: str
    channels: int | None

    @property
    def compat(self) -> str | None:
        """Whose arithmetic the images get, as operators take it: on a GPU DALI's, for the others
        are made on the CPU."""
        if self.data.device.device_type != "cpu":
            return None
        return "pil" if self.layout == "HWC" else "torchvision"

    def with_(self, data: Any, channels: int | None = None) -> Pixels:
        """Other data of the same kind; channels: how many they have, if not as before."""
        return replace(self, data=data, channels=channels or self.channels)

    def extents(self) -> Any:
        """Height and width of each image, int64."""
        first = self.layout.index("H")
        return shapes(self.data).cpu().slice[first : first + 2]


def pixels_of(value: Any, title: str) -> Pixels:
    """Those of a batch or a symbol. Raises OperatorTypeError for other layouts."""
    known = getattr(value, "type", None)
    layout = known.layout if isinstance(known, SampleType) else None
    if not layout and getattr(known, "ndim", None) in (3, None):
        layout = "HWC"  # as operators assume
    if layout not in ("HWC", "CHW"):
        raise OperatorTypeError(
            operator=title,
            expected="images of layout HWC, which stand for images of Pillow, or CHW, for tensors",
            got=f"layout {layout!r}" if layout else describe(value),
            location=user_location(),
        )
    channels = None
    if isinstance(value, Batch) and len(value):
        counts = value.batch_shape.shapes[:, layout.index("C")]
        channels = int(counts[0]) if (counts == counts[0]).all() else None
    return Pixels(value, layout, channels)


def drawn(
    pixels: Pixels,
    low: float,
    high: float,
    *,
    shape: tuple[int, ...] | None = None,
    seed: int | None = None,
) -> Any:
    """A number for each image, or an array of them: uniform, float32, `high` excluded. One number
    where all are the same; it is rounded to float32, for torchvision draws such numbers, too."""
    if low == high:
        return float(np.float32(low))
    draw: Any = for_each_sample(uniform)
    return draw(range=(low, high), shape=shape, seed=seed, **per_sample(pixels.data))


def drawn_integer(pixels: Pixels, count: int) -> Any:
    """One of 0 ... count - 1 for each image."""
    draw: Any = for_each_sample(uniform)
    return draw(values=list(range(count)), dtype="int32", **per_sample(pixels.data))


def at_random(pixels: Pixels, probability: float) -> Any:
    """1 for each image that is drawn, with this probability, else 0."""
    draw: Any = for_each_sample(coin_flip)
    return draw(probability=probability, **per_sample(pixels.data))


def change_some(pixels: Pixels, probability: float, change: Callable[[Pixels], Pixels]) -> Pixels:
    """The images, of which those are changed that are drawn, with this probability."""
    return choose(pixels, at_random(pixels, probability), [lambda own: own, change])


def choose(pixels: Pixels, chosen: Any, changes: Sequence[Callable[[Pixels], Pixels]]) -> Pixels:
    """The images, each changed by the function that its number names."""
    channels: set[int | None] = set()

    def by(change: Callable[[Pixels], Pixels]) -> Callable[[Any], Any]:
        def call(data: Any) -> Any:
            known = pixels_of(data, "torchvision").channels if isinstance(data, Batch) else None
            result = change(replace(pixels, data=data, channels=known or pixels.channels))
            channels.add(result.channels)
            return result.data

        return call

    data = select([by(one) for one in changes], chosen, pixels.data)
    return replace(pixels, data=data, channels=channels.pop() if len(channels) == 1 else None)
