"""TensorFlow: data sets over pipelines, and iterators that return eager tensors.

All in Python: nothing is compiled, and any version of TensorFlow will do. It is imported when a
name of this module is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.eager.support.lazy_names import lazy_names
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
    "dataset": ("DALIDataset", "dataset_options", "serialize_pipeline"),
    "iterators": ("DALIGenericIterator",),
    "operations": ("DALIIterator", "DALIIteratorWrapper", "DALIRawIterator"),
}
__getattr__, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{one}:{name}" for one, names in _PLACES.items() for name in names}
)


def dataset_compatible_tensorflow() -> bool:
    """Whether there can be a `DALIDataset`: in each TensorFlow that is supported."""
    return True


def dataset_inputs_compatible_tensorflow() -> bool:
    """Whether there can be a `DALIDatasetWithInputs`."""
    return True


def dataset_distributed_compatible_tensorflow() -> bool:
    """Whether a `DALIDataset` works with `tf.distribute`."""
    return True
