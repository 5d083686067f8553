"""Files whose paths are data."""

from gradiva.ops.io.file import read

__all__ = ["read"]
