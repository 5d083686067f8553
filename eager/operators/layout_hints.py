"""Warnings about samples without a layout that look like images of another one."""

from __future__ import annotations

from typing import Final

from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

_CHANNELS: Final = (3, 4)
"""Of images in color: an axis that is so short is hardly one of pixels."""


def warn_of_channels_first(name: str, input: Batch, output: SampleType) -> None:
    """Where an operator takes samples of three axes for HWC, whose shapes are rather CHW."""
    if input.layout or output.layout != "HWC" or input.ndim != 3 or not len(input):
        return
    shapes = input.batch_shape.shapes
    first, last = shapes[:, 0], shapes[:, 2]
    if (first == first[0]).all() and int(first[0]) in _CHANNELS and (last > _CHANNELS[-1]).all():
        _warn(name, "are taken for HWC", shapes[0].tolist(), "CHW")


def warn_of_mixed_channels(name: str, input: Batch) -> None:
    """Warn where an operator filters along all axes of samples whose last one is rather the
    channels. name: of the operator."""
    if input.layout or input.ndim != 3 or not len(input):
        return
    shapes = input.batch_shape.shapes
    last = shapes[:, 2]
    if (last == last[0]).all() and int(last[0]) in _CHANNELS and (shapes[:, :2] > 4).all():
        _warn(name, "are filtered along all axes, channels too", shapes[0].tolist(), "HWC")


def _warn(name: str, happens: str, shape: list[int], layout: str) -> None:
    warn_user(
        f"{name}: samples without a layout {happens}, but the shape {tuple(shape)} looks like "
        f"{layout}: give it with gradiva.as_tensor(array, layout={layout!r}), or "
        f"gradiva.as_batch(arrays, layout={layout!r}); for what a function returns, with "
        "`output_layouts=` of python_function or `layout=` of external_source",
        topic=f"{name}: {layout}",
    )
