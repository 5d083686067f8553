"""Reductions: one number in place of all those along some axes."""

from gradiva.ops.class_names import attributes_of

__getattr__, __dir__ = attributes_of("reductions", globals())
