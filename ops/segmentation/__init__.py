"""Operators on segmentation masks and polygons."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("segmentation", globals())
