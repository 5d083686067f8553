"""Affine transforms in pipeline mode."""

from gradiva.transforms import combine, crop, rotation, scale, shear, translation

__all__ = ["combine", "crop", "rotation", "scale", "shear", "translation"]
