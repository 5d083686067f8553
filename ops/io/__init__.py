"""Operators that read files."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("io", globals())
