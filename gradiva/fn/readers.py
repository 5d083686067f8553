"""Readers in pipeline mode."""

from gradiva.ops.readers.file import file

__all__ = ["file"]
