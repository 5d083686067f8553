"""Decoders."""

from gradiva.fn._old_names import absent
from gradiva.ops.decoders.audio.audio import audio
from gradiva.ops.decoders.image.image import image
from gradiva.ops.decoders.image.image_crop import image_crop
from gradiva.ops.decoders.image.image_random_crop import image_random_crop
from gradiva.ops.decoders.image.image_slice import image_slice
from gradiva.ops.decoders.inflate import inflate
from gradiva.ops.decoders.numpy import numpy
from gradiva.ops.decoders.video import video

__getattr__ = absent("decoders", "gradiva")

__all__ = [
    "audio",
    "image",
    "image_crop",
    "image_random_crop",
    "image_slice",
    "inflate",
    "numpy",
    "video",
]
