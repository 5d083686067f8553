"""Decoders under the names of their trial versions."""

from gradiva.compat.dali.old_names import old
from gradiva.fn import decoders

image = old("experimental.decoders.image", decoders.image)
image_crop = old("experimental.decoders.image_crop", decoders.image_crop)
image_random_crop = old("experimental.decoders.image_random_crop", decoders.image_random_crop)
image_slice = old("experimental.decoders.image_slice", decoders.image_slice)
video = old("experimental.decoders.video", decoders.video)

__all__ = ["image", "image_crop", "image_random_crop", "image_slice", "video"]
