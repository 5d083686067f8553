"""What pending calls read that is there: batches as they are, copies of the user's, constants."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu
from gradiva.eager.values.value import Value

__all__ = ["Leaf", "leaf_of", "snapshot_of"]


class Leaf:
    """A value that is there: a batch, or a constant that is part of the program.

    number: no other leaf has it, also after this one is gone; origin: the user's value that the
    batch is a copy of.
    """

    __slots__ = ("__weakref__", "array", "batch", "layout", "number", "origin")

    def __init__(self, batch: Batch, array: np.ndarray[Any, Any] | None = None) -> None:
        self.batch = batch
        self.array = array
        self.layout = batch.layout
        self.number = next(_numbers)
        self.origin: weakref.ref[Any] | None = None

    @property
    def plain(self) -> Batch:
        """The batch, with its data there."""
        look = getattr(self.batch, "_look", None)
        found: Batch = self.batch if look is None else look()
        return found


_numbers = itertools.count()


_leaves: weakref.WeakValueDictionary[int, Leaf] = weakref.WeakValueDictionary()


def leaf_of(batch: Batch) -> Leaf:
    """The one leaf of a batch. (It holds the batch, so the batch's id is its own.)"""
    leaf = _leaves.get(id(batch))
    if leaf is None:
        leaf = _leaves[id(batch)] = Leaf(batch)
    return leaf


_snapshots: weakref.WeakValueDictionary[int, Leaf] = weakref.WeakValueDictionary()


def snapshot_of(given: Any, batch: Batch) -> Leaf:
    """A leaf with a copy of `batch`, which holds a value of the user's: the same one as long as
    something reads it and the value is what it was."""
    found = _snapshots.get(id(given))
    if found is not None and found.origin is not None and found.origin() is given:
        copy = found.batch
        if len(copy) == len(batch) and _same_bytes(copy.data, batch.data):
            return found
    copy = Batch(batch.data.copy(), batch.geometry, batch.type, batch.provenance)
    made = Leaf(copy)
    if isinstance(given, Value | np.ndarray):
        made.origin = weakref.ref(given)
        _snapshots[id(given)] = made
    return made


def _same_bytes(one: Any, other: Any) -> bool:
    """Whether two arrays are known to have the same contents; on a GPU that is not asked."""
    if not on_cpu(one) or not on_cpu(other):
        return False
    return one.dtype == other.dtype and np.array_equal(one.view(np.uint8), other.view(np.uint8))
