"""Reductions: one number in place of all those along some axes."""

from gradiva.ops.class_names import hand_out

__getattr__, __dir__ = hand_out("reductions", globals())
