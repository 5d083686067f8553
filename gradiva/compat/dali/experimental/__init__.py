"""Operators under trial, and the place where scripts look for dynamic mode."""

from gradiva.compat.dali.experimental import dynamic, readers
from gradiva.fn.experimental import decoders, peek_image_shape
from gradiva.ops.image.filter.dilate_erode import dilate, erode
from gradiva.ops.image.filter.median_blur import median_blur
from gradiva.ops.image.resize.resize import resize
from gradiva.ops.image.warp.remap import remap
from gradiva.ops.image.warp.warp_perspective import warp_perspective

__all__ = [
    "decoders",
    "dilate",
    "dynamic",
    "erode",
    "median_blur",
    "peek_image_shape",
    "readers",
    "remap",
    "resize",
    "warp_perspective",
]
