"""Operators under the names of their trial versions: here they are the ones there are."""

from gradiva.fn.experimental import decoders
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.image.resize import resize
from gradiva.ops.image.tensor_resize import tensor_resize

__all__ = ["decoders", "peek_image_shape", "resize", "tensor_resize"]
