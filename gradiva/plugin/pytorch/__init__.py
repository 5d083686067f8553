"""Torch: iterators and data sets for training loops, and functions on torch tensors as operators.

`Batch.torch` and `Tensor.torch` return torch tensors, and `gradiva.as_batch`, `gradiva.as_tensor`
take them. `IterableDataset`, `DataLoader`, `collate`, `Transform`, `loader_evaluator` and `nodes`,
the readers of dynamic mode for torchdata, are loaded when they are asked for.
"""

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.eager.support.lazy_names import lazy_names
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
    "DataLoader",
    "IterableDataset",
    "LastBatchPolicy",
    "TorchPythonFunction",
    "Transform",
    "collate",
    "feed_ndarray",
    "fn",
]

_HERE = "gradiva.plugin.pytorch"
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DataLoader": f"{_HERE}.data_loader:DataLoader",
        "IterableDataset": f"{_HERE}.datasets:IterableDataset",
        "Transform": f"{_HERE}.transforms:Transform",
        "collate": f"{_HERE}.transforms:collate",
        "to_torch_type": f"{_HERE}.torch_utils:to_torch_type",
        "experimental": f"{_HERE}.experimental",
        "loader_evaluator": f"{_HERE}.loader_evaluator",
        "nodes": f"{_HERE}.nodes",
        "torch_utils": f"{_HERE}.torch_utils",
    },
)
