"""Readers under trial."""

from gradiva.fn._awaited import absent
from gradiva.ops.readers.fits.fits import fits
from gradiva.ops.readers.video.video import video

__getattr__ = absent("experimental.readers")

__all__ = ["fits", "video"]
