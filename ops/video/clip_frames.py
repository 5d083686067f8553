"""Which frames a clip has: ranges, strides, and what stands for frames beyond the range."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

PAD_MODES: Final = {
    "none": "none",
    "constant": "constant",
    "edge": "edge",
    "repeat": "edge",
    "reflect_1001": "reflect_1001",
    "symmetric": "reflect_1001",
    "reflect_101": "reflect_101",
    "reflect": "reflect_101",
}
"""All names of the modes."""


def pad_mode_of(name: str) -> str:
    """The mode of that name. Raises OperatorValueError."""
    if name not in PAD_MODES:
        raise op.wrong_value("pad_mode", "one of " + ", ".join(map(repr, PAD_MODES)), repr(name))
    return PAD_MODES[name]


def fill_values(given: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """`fill_value` as three values. Raises OperatorValueError."""
    values = [given] if isinstance(given, int) else [*given]
    if len(values) not in (1, 3):
        raise op.wrong_value("fill_value", "one value, or one for each of 3 channels", len(values))
    if min(values) < 0 or max(values) > 255:
        raise op.wrong_value("fill_value", "values from 0 to 255", values)
    return np.array(values * (3 // len(values)), np.uint8)


def padded(frames: op.Int64Array, begin: int, end: int, mode: str) -> op.Int64Array:
    """Numbers of frames, those beyond the range from `begin` to before `end` replaced: by -1 for
    "constant"; left out for "none". The range is not empty."""
    outside = (frames < begin) | (frames >= end)
    if mode == "none":
        return frames[~outside]
    if mode == "constant":
        return np.where(outside, -1, frames)
    if mode == "edge":
        return np.clip(frames, begin, end - 1)
    count = end - begin
    if mode == "reflect_101":
        period = max(2 * count - 2, 1)
        place = (frames - begin) % period
        return begin + np.minimum(place, period - place) % count
    place = (frames - begin) % (2 * count)
    return begin + np.minimum(place, 2 * count - 1 - place)


def clip_starts(begin: int, end: int, span: int, step: int, tail: bool) -> op.Int64Array:
    """Where clips begin: each takes up `span` frames. tail: also the last one, of which frames are
    missing."""
    starts = np.arange(begin, max(end, begin), step, dtype=np.int64)
    whole = starts[starts + span <= end]
    return starts[: len(whole) + 1] if tail else whole


def uniform_frames(begin: int, end: int, length: int) -> op.Int64Array:
    """Frames at equal distances over the range, both ends included."""
    places = np.linspace(0, end - begin - 1, length)
    return begin + np.floor(places + 0.5).astype(np.int64)
