"""Operators under trial, and others under the names of their trial versions."""

from gradiva.compat.dali.old_names import old
from gradiva.fn import _shared_operators as operators
from gradiva.fn.experimental import decoders, inputs, readers
from gradiva.ops.decoders.inflate import inflate as _inflate
from gradiva.ops.image.filter.dilate_erode import dilate, erode
from gradiva.ops.image.filter.median_blur import median_blur
from gradiva.ops.image.resize.resize import resize
from gradiva.ops.image.warp.remap import remap
from gradiva.ops.image.warp.warp_perspective import warp_perspective

audio_resample = old("experimental.audio_resample", operators.audio_resample)
debayer = old("experimental.debayer", operators.debayer)
equalize = old("experimental.equalize", operators.equalize)
filter = old("experimental.filter", operators.filter)
inflate = old("experimental.inflate", _inflate)
peek_image_shape = old("experimental.peek_image_shape", operators.peek_image_shape)
tensor_resize = old("experimental.tensor_resize", operators.tensor_resize)

__all__ = [
    "audio_resample",
    "debayer",
    "decoders",
    "dilate",
    "equalize",
    "erode",
    "filter",
    "inflate",
    "inputs",
    "median_blur",
    "peek_image_shape",
    "readers",
    "remap",
    "resize",
    "tensor_resize",
    "warp_perspective",
]
