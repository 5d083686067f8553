"""The operators, under the names of pipeline mode."""

from gradiva.fn import decoders, random, readers
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.generic.cast import cast
from gradiva.ops.generic.external_source import external_source
from gradiva.ops.generic.transpose import transpose
from gradiva.ops.image.brightness_contrast import brightness_contrast
from gradiva.ops.image.crop import crop
from gradiva.ops.image.crop_mirror_normalize import crop_mirror_normalize
from gradiva.ops.image.flip import flip
from gradiva.ops.image.resize import resize

__all__ = [
    "brightness_contrast",
    "cast",
    "crop",
    "crop_mirror_normalize",
    "decoders",
    "external_source",
    "flip",
    "peek_image_shape",
    "random",
    "readers",
    "resize",
    "transpose",
]
