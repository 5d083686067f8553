"""TensorFlow: data sets over pipelines, and iterators that return eager tensors.

All in Python: nothing is compiled, and any version of TensorFlow will do. It is imported when a
name of this module is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.tf import experimental

if TYPE_CHECKING:
    from gradiva.plugin.tf.dataset import DALIDataset, dataset_options, serialize_pipeline
    from gradiva.plugin.tf.iterators import DALIGenericIterator
    from gradiva.plugin.tf.operations import DALIIterator, DALIIteratorWrapper, DALIRawIterator

__all__ = [
    "DALIDataset",
    "DALIGenericIterator",
    "DALIIterator",
    "DALIIteratorWrapper",
    "DALIRawIterator",
    "LastBatchPolicy",
    "dataset_compatible_tensorflow",
    "dataset_distributed_compatible_tensorflow",
    "dataset_inputs_compatible_tensorflow",
    "dataset_options",
    "experimental",
    "serialize_pipeline",
]

_PLACES = {
    "DALIDataset": "dataset",
    "DALIGenericIterator": "iterators",
    "DALIIterator": "operations",
    "DALIIteratorWrapper": "operations",
    "DALIRawIterator": "operations",
    "dataset_options": "dataset",
    "serialize_pipeline": "dataset",
}


def dataset_compatible_tensorflow() -> bool:
    """Whether there can be a `DALIDataset`: in each TensorFlow that is supported."""
    return True


def dataset_inputs_compatible_tensorflow() -> bool:
    """Whether there can be a `DALIDatasetWithInputs`."""
    return True


def dataset_distributed_compatible_tensorflow() -> bool:
    """Whether a `DALIDataset` works with `tf.distribute`."""
    return True


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
