"""Readers of dynamic mode: objects that are looped over, epoch by epoch."""

from gradiva.ops.readers.file import File

__all__ = ["File"]
