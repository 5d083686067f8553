"""Data sets of TensorFlow as inputs of pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradiva.eager.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from gradiva.plugin.tf.inputs import DALIDatasetWithInputs, Input

__all__ = ["DALIDatasetWithInputs", "Input"]

__getattr__, __dir__ = lazy_names(
    __name__, {name: f"gradiva.plugin.tf.inputs:{name}" for name in __all__}
)
