"""Decoders under the names of their trial versions."""

from gradiva.fn.decoders import image, image_crop, image_random_crop, image_slice

__all__ = ["image", "image_crop", "image_random_crop", "image_slice"]
