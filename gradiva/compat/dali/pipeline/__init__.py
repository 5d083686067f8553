"""`Pipeline` and `pipeline_def`, under the module name that scripts import."""

from gradiva.capture.pipeline.options import OperatorConcurrency, StreamPolicy
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.function_source import do_not_convert
from gradiva.compat.dali.pipeline import experimental

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "experimental",
    "pipeline_def",
]
