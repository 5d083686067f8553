"""Functions of dynamic mode as parts of a torch DataLoader: `collate` and `Transform`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager.support.errors import describe, wrong_type, wrong_value
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import Batch, as_batch
from gradiva.eager.values.tensor import Tensor, as_tensor

__all__ = ["Transform", "collate"]

torch = lazy_module("torch", "torch")


class Transform:
    """`Transform(fn)(sample)`: a function on tensors of dynamic mode as a transform of a data set.

    fn: called with a `gradiva.Tensor` for each argument; what it returns, alone or in tuples,
    lists and dicts, comes as torch tensors on the same memory. An argument may be an array, a torch
    tensor, a picture of Pillow, a number, or bytes (an encoded file: uint8, 1-D). It may be pickled
    if the function may. Raises OperatorTypeError for what is no sample, and what fn raises.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = _function(fn, "Transform")

    def __call__(self, *samples: Any) -> Any:
        return _to_torch(self.fn(*(as_tensor(_array(one, "Transform")) for one in samples)))

    def __repr__(self) -> str:
        return f"Transform({_name(self.fn)})"


class collate:  # noqa: N801  it is called as a function
    """`DataLoader(..., collate_fn=collate(fn))`: a function on batches of dynamic mode makes the
    batches of a DataLoader, in its workers.

    fn: called with a `gradiva.Batch` for each part of the samples: by position where samples are
    tuples or lists, by name where they are dicts, else with one. What it returns, alone or in
    tuples, lists and dicts, comes as torch tensors on the same memory, and must be dense. Parts may
    be what `Transform` takes; they may differ in shape from sample to sample. Raises
    OperatorTypeError for what is no sample, OperatorValueError for samples of different parts and
    for ragged results.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = _function(fn, "collate")

    def __call__(self, samples: Sequence[Any]) -> Any:
        samples = list(samples)
        if not samples:
            raise wrong_value("samples", "samples", "none", operator="collate")
        first = samples[0]
        if isinstance(first, Mapping):
            keys = _same([list(one) if isinstance(one, Mapping) else None for one in samples])
            return _to_torch(
                self.fn(**{key: _batch([one[key] for one in samples]) for key in keys})
            )
        if isinstance(first, tuple | list):
            lengths = [len(one) if isinstance(one, tuple | list) else None for one in samples]
            parts = range(_same(lengths))
            return _to_torch(self.fn(*(_batch([one[part] for one in samples]) for part in parts)))
        return _to_torch(self.fn(_batch(samples)))

    def __repr__(self) -> str:
        return f"collate({_name(self.fn)})"


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _function(given: Any, operator: str) -> Callable[..., Any]:
    if not callable(given):
        raise wrong_type("fn", "a function", describe(given), operator=operator)
    found: Callable[..., Any] = given
    return found


def _same(given: list[Any]) -> Any:
    for number, one in enumerate(given):
        if one is None or one != given[0]:
            raise wrong_value(
                "samples",
                str(given[0]),
                "none" if one is None else str(one),
                f"sample {number} of the batch has other parts than the first one",
                operator="collate",
            )
    return given[0]


def _batch(parts: list[Any]) -> Batch:
    return as_batch([_array(part, "collate") for part in parts])


def _array(part: Any, operator: str) -> Any:
    if isinstance(part, bytes | bytearray | memoryview):
        return np.frombuffer(part, np.uint8)
    if isinstance(part, Tensor | np.ndarray | torch.Tensor):
        return part
    array = np.asarray(part)
    if array.dtype.hasobject or array.dtype.kind in "USmMV":
        raise wrong_type(
            "samples",
            "arrays, tensors, pictures, numbers or bytes",
            describe(part),
            operator=operator,
        )
    return array


def _to_torch(made: Any) -> Any:
    """The same with torch tensors in place of batches and tensors."""
    if isinstance(made, Batch | Tensor):
        return made.torch()
    if isinstance(made, Mapping):
        return {key: _to_torch(value) for key, value in made.items()}
    if isinstance(made, tuple | list):
        parts = [_to_torch(value) for value in made]
        return type(made)._make(parts) if hasattr(made, "_make") else type(made)(parts)
    return made
