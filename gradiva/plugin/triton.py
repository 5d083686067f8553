"""The mark of pipelines that a model repository of the Triton server is to hold."""

from __future__ import annotations

from typing import TypeVar

from gradiva.capture.pipeline.pipeline_def import PipelineFactory
from gradiva.eager.support.errors import OperatorTypeError, describe, user_location

__all__ = ["autoserialize"]

F = TypeVar("F")


def autoserialize(dali_pipeline: F) -> F:
    """Mark what `pipeline_def` made as the pipeline of its file that is to be stored.

    Returns it; it has `_is_autoserialize` set, which tools look for. `Pipeline.serialize` stores a
    pipeline, with the mark or without. Raises OperatorTypeError for anything else.
    """
    if not isinstance(dali_pipeline, PipelineFactory):
        raise OperatorTypeError(
            operator="autoserialize",
            expected="a function decorated with pipeline_def",
            got=describe(dali_pipeline),
            location=user_location(),
        )
    dali_pipeline._is_autoserialize = True  # type: ignore[attr-defined]
    return dali_pipeline
