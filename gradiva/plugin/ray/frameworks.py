"""Batches from loaders as arrays of the trainer's framework: on the memory of the loader or of the
object store."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import Batch

__all__ = ["FORMS", "converted"]

torch: Any = lazy_module("torch")
jax: Any = lazy_module("jax")


def _as_torch(array: np.ndarray[Any, Any]) -> Any:
    with warnings.catch_warnings():
        # Of memory that is not to be written to: docs/scale.md says so.
        warnings.filterwarnings("ignore", message=".*not writable")
        return torch.from_numpy(array)


def _as_jax(array: np.ndarray[Any, Any]) -> Any:
    return jax.numpy.asarray(array)


FORMS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "numpy": lambda array: array,
    "torch": _as_torch,
    "jax": _as_jax,
}
"""What makes an array of a framework from one of NumPy."""


def converted(batch: Batch, form: str) -> Any:
    """An array with a leading batch axis; a list of arrays where shapes differ; for "gradiva" the
    batch itself."""
    if form == "gradiva":
        return batch
    batch = batch.cpu()
    if batch.batch_shape.uniform:
        return FORMS[form](batch.as_array())
    return [FORMS[form](array) for array in batch.arrays()]
