"""Operators on bounding boxes, segmentation masks and polygons."""
