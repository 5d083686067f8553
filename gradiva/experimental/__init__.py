"""Operators under trial, and the place where scripts look for dynamic mode."""

from gradiva.experimental import dynamic
from gradiva.ops.image.dilate import dilate
from gradiva.ops.image.erode import erode
from gradiva.ops.image.median_blur import median_blur
from gradiva.ops.image.remap import remap
from gradiva.ops.image.resize import resize
from gradiva.ops.image.warp_perspective import warp_perspective

__all__ = ["dilate", "dynamic", "erode", "median_blur", "remap", "resize", "warp_perspective"]
