"""Readers under trial."""

from gradiva.ops.readers.records.fits import fits
from gradiva.ops.readers.video.video import video

__all__ = ["fits", "video"]
