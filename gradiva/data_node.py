"""`DataNode`, under the module name that scripts import."""

from gradiva.capture.node import DataNode

__all__ = ["DataNode"]
