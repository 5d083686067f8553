"""`DataNode` and `newaxis`, under the module name that scripts import."""

from gradiva.capture.node import DataNode
from gradiva.eager.subscripts import newaxis

__all__ = ["DataNode", "newaxis"]
