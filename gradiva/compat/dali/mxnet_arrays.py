"""Batches as arrays of MXNet, on the same memory."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from gradiva.capture.iterators.iterator_options import IteratorTypeError, IteratorValueError
from gradiva.eager.support.errors import OperatorTypeError, annotate_error
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor

# Names that NumPy had once, for the import of a library that still asks for them.


def _gone(*_arguments: Any) -> NoReturn:
    raise NotImplementedError("NumPy does not have this function any more")


_NAMES: dict[str, Any] = {
    "bool": np.bool_,
    "Inf": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "alltrue": np.all,
    "in1d": np.isin,
    "mirr": _gone,
    "msort": _gone,
    "npv": _gone,
    "pmt": _gone,
    "ppmt": _gone,
    "product": np.prod,
    "pv": _gone,
    "rate": _gone,
    "round_": np.round,
    "sometrue": np.any,
    "trapz": getattr(np, "trapezoid", None),
}


@contextmanager
def old_names() -> Iterator[None]:
    """NumPy has these names in this block, and is afterwards as it was."""
    lacking = {name: value for name, value in _NAMES.items() if name not in vars(np)}
    vars(np).update(lacking)
    try:
        yield
    finally:
        for name in lacking:
            del vars(np)[name]


try:
    with old_names(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mx: Any = importlib.import_module("mxnet")
except ImportError as error:
    raise ImportError(
        f"gradiva needs mxnet for this; install it with: pip install mxnet ({error})"
    ) from error

__all__ = ["dense", "feed_ndarray", "mx", "old_names", "to_mxnet"]

_KNOWN = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")
"""The element types that MXNet takes from others."""


def feed_ndarray(dali_tensor: Batch | Tensor, arr: Any, cuda_stream: Any = None) -> Any:
    """Copy a tensor or a dense batch into an MXNet array of the same shape and type, in place.

    Returns `arr`. Raises OperatorValueError for another shape, OperatorTypeError for another type.
    """
    with annotate_error("feed_ndarray"):
        given = np.asarray(dali_tensor)
        if given.dtype != arr.dtype:
            raise IteratorTypeError(
                argument="arr", expected=str(given.dtype), got=str(np.dtype(arr.dtype))
            )
        if given.shape != arr.shape:
            raise IteratorValueError(argument="arr", expected=str(given.shape), got=str(arr.shape))
    arr[:] = to_mxnet(given)
    return arr


def dense(batch: Batch) -> np.ndarray[Any, Any]:
    if batch.dtype.name not in _KNOWN:
        raise OperatorTypeError(
            "MXNet has no such elements: cast before",
            expected=f"one of {', '.join(_KNOWN)}",
            got=str(batch.dtype),
        )
    return batch.cpu().as_array()


def to_mxnet(array: np.ndarray[Any, Any]) -> Any:
    """An MXNet array on the memory of a NumPy array, which is kept until MXNet releases it."""
    whole = np.ascontiguousarray(array)
    if not whole.size:
        raise IteratorValueError("MXNet has no arrays without elements", got=str(array.shape))
    if not whole.flags.writeable:
        whole = whole.copy()
    return mx.nd.from_dlpack(whole.__dlpack__())
