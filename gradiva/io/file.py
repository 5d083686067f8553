"""Files whose paths are data."""

from gradiva.ops.readers.read import read

__all__ = ["read"]
