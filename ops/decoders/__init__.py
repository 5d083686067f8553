"""Decoders: from the bytes of a file to samples."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("decoders", globals())
