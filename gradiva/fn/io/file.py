"""Files whose paths are data in pipeline mode."""

from gradiva.ops.io.file import read

__all__ = ["read"]
