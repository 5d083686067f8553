"""Operators that make affine transforms, and combine them."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("transforms", globals())
