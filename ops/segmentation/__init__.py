"""Operators on segmentation masks and polygons."""

from gradiva.ops.class_names import attributes_of

__getattr__, __dir__ = attributes_of("segmentation", globals())
