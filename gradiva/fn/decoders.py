"""Decoders in pipeline mode."""

import typing as _typing

from gradiva._names import names_of as _names_of
from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if _typing.TYPE_CHECKING:
    from gradiva.ops.decoders.audio.audio import audio as audio
    from gradiva.ops.decoders.image.image import image as image
    from gradiva.ops.decoders.image.image_crop import image_crop as image_crop
    from gradiva.ops.decoders.image.image_random_crop import image_random_crop as image_random_crop
    from gradiva.ops.decoders.image.image_slice import image_slice as image_slice
    from gradiva.ops.decoders.inflate import inflate as inflate
    from gradiva.ops.decoders.numpy import numpy as numpy
    from gradiva.ops.decoders.video import video as video
else:
    _places = _names_of(__name__)
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
