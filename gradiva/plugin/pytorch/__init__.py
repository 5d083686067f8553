"""Torch: iterators for training loops, and functions on torch tensors as operators."""

from gradiva.capture.pipeline.iterator import LastBatchPolicy
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
    "LastBatchPolicy",
    "TorchPythonFunction",
    "feed_ndarray",
    "fn",
]
