"""Operators under trial, and others under the names of their trial versions."""

from gradiva.fn.experimental import decoders
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.image.debayer import debayer
from gradiva.ops.image.equalize import equalize
from gradiva.ops.image.remap import remap
from gradiva.ops.image.resize import resize
from gradiva.ops.image.tensor_resize import tensor_resize
from gradiva.ops.image.warp_perspective import warp_perspective

__all__ = [
    "debayer",
    "decoders",
    "equalize",
    "peek_image_shape",
    "remap",
    "resize",
    "tensor_resize",
    "warp_perspective",
]
