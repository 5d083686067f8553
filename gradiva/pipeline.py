"""`Pipeline` and `pipeline_def`, under the module name that scripts import."""

from gradiva.capture.conditionals.source import do_not_convert
from gradiva.capture.node import DataNode
from gradiva.capture.pipeline import Pipeline, pipeline_def

__all__ = ["DataNode", "Pipeline", "do_not_convert", "pipeline_def"]
