"""Operators under trial, and others under the names of their trial versions."""

from gradiva.fn.experimental import decoders
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.image.debayer import debayer
from gradiva.ops.image.dilate import dilate
from gradiva.ops.image.equalize import equalize
from gradiva.ops.image.erode import erode
from gradiva.ops.image.filter import filter
from gradiva.ops.image.median_blur import median_blur
from gradiva.ops.image.remap import remap
from gradiva.ops.image.resize import resize
from gradiva.ops.image.tensor_resize import tensor_resize
from gradiva.ops.image.warp_perspective import warp_perspective

__all__ = [
    "debayer",
    "decoders",
    "dilate",
    "equalize",
    "erode",
    "filter",
    "median_blur",
    "peek_image_shape",
    "remap",
    "resize",
    "tensor_resize",
    "warp_perspective",
]
