"""Files whose paths are data in pipeline mode."""

from gradiva.ops.readers.read import read

__all__ = ["read"]
