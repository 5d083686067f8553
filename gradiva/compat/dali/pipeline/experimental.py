"""`pipeline_def` under the name of its trial version: here it is the one there is."""

from gradiva.capture.pipeline.pipeline_def import pipeline_def

__all__ = ["pipeline_def"]
