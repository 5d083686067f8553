"""Operators under the names of their trial versions: here they are the ones there are."""

from gradiva.fn.experimental import decoders
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.image.debayer import debayer
from gradiva.ops.image.equalize import equalize
from gradiva.ops.image.resize import resize

__all__ = ["debayer", "decoders", "equalize", "peek_image_shape", "resize"]
