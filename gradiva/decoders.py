"""Decoders."""

from gradiva.ops.decoders.image import image

__all__ = ["image"]
