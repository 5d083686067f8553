"""Random noise that is added to samples."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("noise", globals())
