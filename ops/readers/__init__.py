"""Readers: sources of files and records."""

from gradiva.ops.class_names import attributes_of

__getattr__, __dir__ = attributes_of("readers", globals())
