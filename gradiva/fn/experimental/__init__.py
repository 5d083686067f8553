"""Operators under the names of their trial versions: here they are the ones there are."""

from gradiva.fn.experimental import decoders
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.image.dilate import dilate
from gradiva.ops.image.erode import erode
from gradiva.ops.image.filter import filter
from gradiva.ops.image.median_blur import median_blur
from gradiva.ops.image.resize import resize

__all__ = [
    "decoders",
    "dilate",
    "erode",
    "filter",
    "median_blur",
    "peek_image_shape",
    "resize",
]
