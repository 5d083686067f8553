"""Decoders: from the bytes of a file to samples."""

from gradiva.ops.class_names import attributes_of

__getattr__, __dir__ = attributes_of("decoders", globals())
