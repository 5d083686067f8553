"""Affine transforms of points, as matrices for `warp_affine` and `coord_transform`."""

from gradiva.ops.transforms.combine import combine
from gradiva.ops.transforms.linear import rotation, scale, shear
from gradiva.ops.transforms.translation import crop, translation

__all__ = ["combine", "crop", "rotation", "scale", "shear", "translation"]
