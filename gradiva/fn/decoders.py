"""Decoders in pipeline mode."""

from typing import TYPE_CHECKING

from gradiva._names import names_of
from gradiva.eager.support.lazy_names import lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if TYPE_CHECKING:
    from gradiva.ops.decoders.audio.audio import audio
    from gradiva.ops.decoders.image.image import image
    from gradiva.ops.decoders.image.image_crop import image_crop
    from gradiva.ops.decoders.image.image_random_crop import image_random_crop
    from gradiva.ops.decoders.image.image_slice import image_slice
    from gradiva.ops.decoders.inflate import inflate
    from gradiva.ops.decoders.numpy import numpy
    from gradiva.ops.decoders.video import video
else:
    __getattr__, __dir__ = lazy_names(__name__, names_of(__name__))

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
