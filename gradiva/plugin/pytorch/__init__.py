"""Torch: iterators and data sets for training loops, and functions on torch tensors as operators.

`Batch.torch` and `Tensor.torch` return torch tensors, and `gradiva.as_batch`, `gradiva.as_tensor`
take them. `IterableDataset`, `collate`, `Transform`, `loader_evaluator` and `nodes`, the readers of
dynamic mode for torchdata, are loaded when they are asked for.
"""

from importlib import import_module
from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.pytorch import fn
from gradiva.plugin.pytorch.function import TorchPythonFunction
from gradiva.plugin.pytorch.iterators import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    feed_ndarray,
)

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "IterableDataset",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "Transform",
    "collate",
    "feed_ndarray",
    "fn",
]

_LATER = {
    "IterableDataset": "datasets",
    "Transform": "transforms",
    "collate": "transforms",
    "to_torch_type": "torch_utils",
}
_MODULES = ("experimental", "loader_evaluator", "nodes", "torch_utils")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
