"""Operators of dynamic mode that are on trial, and the place where scripts look for dynamic mode,
`gradiva.experimental.dynamic`."""

from gradiva.experimental import dynamic
from gradiva.ops.image.dilate import dilate
from gradiva.ops.image.erode import erode
from gradiva.ops.image.median_blur import median_blur

__all__ = ["dilate", "dynamic", "erode", "median_blur"]
