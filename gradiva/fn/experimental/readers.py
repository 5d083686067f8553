"""Readers under trial."""

from gradiva.compat.dali.awaited import absent
from gradiva.ops.readers.fits.fits import fits
from gradiva.ops.readers.video.video import video

__getattr__ = absent(__name__)

__all__ = ["fits", "video"]
