"""`Pipeline` and `pipeline_def`, under the module name that scripts import."""

from gradiva.capture.node import DataNode
from gradiva.capture.pipeline import Pipeline, pipeline_def
from gradiva.pipeline import experimental

__all__ = ["DataNode", "Pipeline", "experimental", "pipeline_def"]
