"""Readers in pipeline mode."""

from gradiva.fn._old_names import absent
from gradiva.ops.readers.file import file
from gradiva.ops.readers.mxnet import mxnet

__getattr__ = absent("readers")

__all__ = ["file", "mxnet"]
