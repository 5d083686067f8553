"""Frames as a small animation that a browser plays."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module

from .axes import Array

if TYPE_CHECKING:
    import PIL.features as pil_features
    import PIL.Image as pil
else:
    pil = lazy_module("PIL.Image", "pillow")
    pil_features = lazy_module("PIL.features", "pillow")

__all__ = ["MOST_FRAMES", "animation"]

MOST_FRAMES: Final = 16
_SECONDS: Final = 2.0
"""How long an animation is, at most a quarter of a second for a frame: samples do not tell."""


def animation(frames: Array) -> tuple[str, bytes]:
    """The type and the bytes of an animation of pictures, uint8 (n, H, W, 3), without end: WebP, or
    PNG where Pillow was built without it."""
    pictures = [pil.fromarray(np.ascontiguousarray(frame)) for frame in frames]
    options = {"save_all": True, "append_images": pictures[1:], "loop": 0}
    options["duration"] = round(1000 * min(0.25, _SECONDS / len(pictures)))
    buffer = io.BytesIO()
    if pil_features.check("webp"):
        pictures[0].save(buffer, "WEBP", quality=75, method=0, **options)
        return "image/webp", buffer.getvalue()
    pictures[0].save(buffer, "PNG", **options)
    return "image/png", buffer.getvalue()
