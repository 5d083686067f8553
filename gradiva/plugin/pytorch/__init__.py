"""Torch: iterators and data sets for training loops, and functions on torch tensors as operators.

`IterableDataset`, `collate`, `Transform` and `loader_evaluator` are loaded when they are asked for.
"""

from importlib import import_module
from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.dtypes import DType
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

_LATER = {"IterableDataset": "datasets", "Transform": "transforms", "collate": "transforms"}
_MODULES = ("experimental", "loader_evaluator")


torch = lazy_module("torch", "torch")
_SHARED = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
"""Element types that torch has, too, under the same names."""


def __getattr__(name: str) -> Any:
    if name == "to_torch_type":
        made = {DType.of(one): getattr(torch, one) for one in _SHARED if hasattr(torch, one)}
        globals()[name] = made
        return made
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
