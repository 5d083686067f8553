"""Inputs that are fed while they are read."""

from gradiva.ops.external_source.video_input import video

__all__ = ["video"]
