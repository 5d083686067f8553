"""From a decoder's frame to pixels."""

from __future__ import annotations

from typing import Any

from gradiva.eager.types.arrays import Array

__all__ = ["planes_to_rgb"]


def planes_to_rgb(frame: Any, out: Array, colorspace: str | None) -> None:
    """Write a frame of PyAV as RGB, uint8 (height, width, 3). colorspace: what the file is taken to
    say of its colors; None for what it says."""
    out[...] = frame.to_ndarray(format="rgb24")
