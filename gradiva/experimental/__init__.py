"""Operators under trial, and the place where scripts look for dynamic mode."""

from gradiva.experimental import dynamic
from gradiva.ops.image.remap import remap
from gradiva.ops.image.warp_perspective import warp_perspective

__all__ = ["dynamic", "remap", "warp_perspective"]
