"""Operators that read files in pipeline mode."""

from gradiva.fn.io import file as file

__all__ = ["file"]
