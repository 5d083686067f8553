"""`Pipeline` and `pipeline_def`, under the module name that scripts import."""

from gradiva.capture.node import DataNode
from gradiva.capture.pipeline import Pipeline
from gradiva.capture.pipeline_def import pipeline_def

__all__ = ["DataNode", "Pipeline", "pipeline_def"]
