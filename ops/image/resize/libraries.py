"""Resizing one image with Pillow or OpenCV itself, so that the result is theirs by construction."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

pillow: Any = lazy_module("PIL.Image", "pillow")


AREA_CHANNELS, MOST_CHANNELS = 4, 128
"""How many channels OpenCV's INTER_AREA and its other filters take."""

_FILTERS = {
    op.InterpType.INTERP_NN: ("NEAREST", "INTER_NEAREST"),
    op.InterpType.INTERP_LINEAR: ("BILINEAR", "INTER_LINEAR"),
    op.InterpType.INTERP_TRIANGULAR: ("BILINEAR", "INTER_AREA"),
    op.InterpType.INTERP_CUBIC: ("BICUBIC", "INTER_CUBIC"),
    op.InterpType.INTERP_LANCZOS3: ("LANCZOS", "INTER_LANCZOS4"),
    op.InterpType.INTERP_BOX: ("BOX", None),
    op.InterpType.INTERP_HAMMING: ("HAMMING", None),
    op.InterpType.INTERP_NEAREST_EXACT: (None, "INTER_NEAREST_EXACT"),
}
"""Their names in Pillow and in OpenCV, where these have them."""
_ALL_BUT = (op.InterpType.INTERP_BOX, op.InterpType.INTERP_HAMMING)
KNOWN: dict[str, tuple[op.InterpType, ...]] = {
    "pil": tuple(filter for filter, (name, _) in _FILTERS.items() if name),
    "opencv": tuple(filter for filter, (_, name) in _FILTERS.items() if name),
    "torchvision": tuple(filter for filter in _FILTERS if filter not in _ALL_BUT),
}
"""The filters of each library."""
NAMES = {filter: filter.name.removeprefix("INTERP_") for filter in _FILTERS}


def resize_pil(source: Array, region: Any, target: Array, filter: op.InterpType) -> None:
    """Image.fromarray(source).resize(..., box=region), for arrays (H, W, C).

    uint8 of 1 to 4 channels is an image L, LA, RGB or RGBA; Pillow multiplies the colors by alpha
    on the way. Of other dtypes and numbers of channels each channel is an image.
    """
    top, left, bottom, right = region
    size, box = (target.shape[1], target.shape[0]), (left, top, right, bottom)
    method = getattr(pillow.Resampling, _FILTERS[filter][0] or "")
    if source.dtype == np.uint8 and source.shape[2] in (2, 3, 4):
        image = pillow.fromarray(np.ascontiguousarray(source))
        target[:] = np.asarray(image.resize(size, method, box))
        return
    for channel in range(source.shape[2]):
        image = pillow.fromarray(np.ascontiguousarray(source[:, :, channel]))
        target[:, :, channel] = np.asarray(image.resize(size, method, box))


def resize_opencv(source: Array, region: Any, target: Array, filter: op.InterpType) -> None:
    """cv2.resize of whole arrays (H, W, C); the channels of a pixel go together."""
    size = (target.shape[1], target.shape[0])
    method = getattr(cv2, _FILTERS[filter][1] or "")
    made = cv2.resize(np.ascontiguousarray(source), size, interpolation=method)
    target[:] = made.reshape(target.shape)
