"""`DataNode` and `newaxis`, under the module name that scripts import."""

from gradiva.capture.recording.data_node import DataNode
from gradiva.eager.values.indexing import newaxis

__all__ = ["DataNode", "newaxis"]
