"""Operators that read files."""

from gradiva.ops.class_names import attributes_of

__getattr__, __dir__ = attributes_of("io", globals())
