"""Inputs of pending calls that exist already: batches, copies of the user's arrays, constants."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gradiva.eager.support.shared_state import SerialNumbers
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu
from gradiva.eager.values.value import Value


class ConcreteInput:
    """An input that exists already: a batch, or a constant that is part of the program.

    number: unique for each input, and not used again after the input has been freed; origin: the
    user's value that the batch is a copy of.
    """

    __slots__ = ("__weakref__", "array", "batch", "layout", "number", "origin")

    def __init__(self, batch: Batch, array: np.ndarray[Any, Any] | None = None) -> None:
        self.batch = batch
        self.array = array
        self.layout = batch.layout
        self.number = _numbers.take()
        self.origin: weakref.ref[Any] | None = None

    @property
    def plain(self) -> Batch:
        """The batch, with its data computed."""
        look = getattr(self.batch, "_materialize", None)
        found: Batch = self.batch if look is None else look()
        return found


_numbers = SerialNumbers()
_making = threading.RLock()

_concrete_inputs: weakref.WeakValueDictionary[int, ConcreteInput] = weakref.WeakValueDictionary()


def concrete_input_of(batch: Batch) -> ConcreteInput:
    """The concrete input for a batch; there is one for each batch. (It holds the batch, so the id
    of the batch stays valid.)"""
    concrete = _concrete_inputs.get(id(batch))
    if concrete is None:
        with _making:  # a second one would be a key that the first one does not find
            concrete = _concrete_inputs.get(id(batch))
            if concrete is None:
                concrete = _concrete_inputs[id(batch)] = ConcreteInput(batch)
    return concrete


_snapshots: weakref.WeakValueDictionary[int, ConcreteInput] = weakref.WeakValueDictionary()


def snapshot_of(given: Any, batch: Batch) -> ConcreteInput:
    """A concrete input with a copy of `batch`, which holds a value of the user's. The same input is
    returned again as long as something reads it and the value has not changed."""
    found = _snapshots.get(id(given))
    if found is not None and found.origin is not None and found.origin() is given:
        copy = found.batch
        if len(copy) == len(batch) and _same_bytes(copy.data, batch.data):
            return found
    copy = Batch.over(batch.data.copy(), batch.batch_shape, batch.type, batch.provenance)
    made = ConcreteInput(copy)
    if isinstance(given, Value | np.ndarray):
        made.origin = weakref.ref(given)
        _snapshots[id(given)] = made
    return made


def _same_bytes(one: Any, other: Any) -> bool:
    """Whether two arrays are known to have the same contents. Arrays on a GPU are not compared."""
    if not on_cpu(one) or not on_cpu(other):
        return False
    return one.dtype == other.dtype and np.array_equal(one.view(np.uint8), other.view(np.uint8))
