"""Batches and tensors as torch tensors, under the module name that some scripts import."""

from __future__ import annotations

from typing import Any

from gradiva.capture.pipeline.outputs import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from gradiva.eager.support.errors import annotate_error, describe, wrong_type
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.dtypes import DType
from gradiva.plugin.pytorch.iterators import feed_ndarray

__all__ = [
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
    "feed_ndarray",
    "to_torch_tensor",
]

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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def to_torch_tensor(dali_tensor: Any, copy: bool) -> Any:
    """A tensor or a dense batch as a torch tensor, on the device where it is.

    copy: of its own memory; otherwise it shares that of the batch. Raises OperatorTypeError for
    what is neither, OperatorValueError for a batch of samples of several shapes.
    """
    with annotate_error("to_torch_tensor"):
        if not hasattr(dali_tensor, "torch"):
            raise wrong_type("dali_tensor", "a tensor or a batch", describe(dali_tensor))
        made = dali_tensor.torch()
        return made.clone() if copy else made
