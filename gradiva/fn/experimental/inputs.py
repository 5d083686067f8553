"""Inputs that are fed while they are read."""

from gradiva.fn._awaited import absent
from gradiva.ops.external_source.video_input import video

__getattr__ = absent("experimental.inputs")

__all__ = ["video"]
