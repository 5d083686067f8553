"""Readers of dynamic mode under trial."""

from gradiva.ops.readers.records.fits import Fits
from gradiva.ops.readers.video.video import Video

__all__ = ["Fits", "Video"]
