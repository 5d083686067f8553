"""Operators on segmentation masks and polygons."""
