"""Affine transforms of points, as matrices for `warp_affine` and `coord_transform`."""

from gradiva.ops.transforms.combine import combine
from gradiva.ops.transforms.crop import crop
from gradiva.ops.transforms.rotation import rotation
from gradiva.ops.transforms.scale import scale
from gradiva.ops.transforms.shear import shear
from gradiva.ops.transforms.translation import translation

__all__ = ["combine", "crop", "rotation", "scale", "shear", "translation"]
