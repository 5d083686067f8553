"""Readers: sources of files and records."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("readers", globals())
