"""Inputs that are fed while they are read."""

from gradiva.compat.dali.awaited import absent
from gradiva.ops.external_source.video_input import video

__getattr__ = absent(__name__)

__all__ = ["video"]
