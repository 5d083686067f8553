"""`Pipeline` and `pipeline_def`, under the module name that scripts import."""

from gradiva.capture.conditionals.source import do_not_convert
from gradiva.capture.node import DataNode
from gradiva.capture.options import OperatorConcurrency, StreamPolicy
from gradiva.capture.pipeline import Pipeline
from gradiva.capture.pipeline_def import pipeline_def
from gradiva.pipeline import experimental

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "experimental",
    "pipeline_def",
]
