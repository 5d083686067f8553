"""Masks and polygons in pipeline mode."""

from gradiva.segmentation import random_mask_pixel, random_object_bbox, select_masks

__all__ = ["random_mask_pixel", "random_object_bbox", "select_masks"]
