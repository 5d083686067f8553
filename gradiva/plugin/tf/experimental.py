"""Data sets of TensorFlow as inputs of pipelines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradiva.plugin.tf.inputs import DALIDatasetWithInputs, Input

__all__ = ["DALIDatasetWithInputs", "Input"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("gradiva.plugin.tf.inputs"), name)
