"""GRADIVA_POISON=1, a setting for debugging: who looks at released memory sees that it is dead.

Normally a released output lives on while somebody holds an array on it, so that stale views are
harmless, and no bug shows. With the setting, outputs that are in use for a limited time are
copies, and are overwritten with bytes of 0xFF when they are released: integers become 255 or -1,
floating-point values NaN. The pool does the same to blocks that are given back to it, and to fresh
ones, which shows a kernel that reads what it has not written.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gradiva.eager.runtime.host_memory import POISON
from gradiva.eager.runtime.memory_settings import settings

from .batch import Batch
from .buffers import on_cpu

__all__ = ["mark_in_use", "poison"]

# By identity: arrays have no hash. An entry goes with its array.
_in_use: weakref.WeakValueDictionary[int, np.ndarray[Any, Any]] = weakref.WeakValueDictionary()


def mark_in_use(batch: Batch) -> Batch:
    """The batch itself; with GRADIVA_POISON=1 a copy, which `poison` may overwrite.

    A copy, because an output may lie in memory that others need: a constant of the graph, an
    array of the user's that a source passed on, the memory of another output.
    Raises OperatorValueError for an environment variable that makes no sense.
    """
    settings.read()
    if not settings.poison or not on_cpu(batch.data):
        return batch
    data = batch.data.copy()
    _in_use[id(data)] = data
    return Batch.over(data, batch.batch_shape, batch.type, batch.provenance)


def poison(batch: Batch) -> None:
    """Overwrite a batch that `mark_in_use` has copied; leave any other as it is.

    Its memory stays until the last array on it goes: a stale view shows wrong values, and is
    never a view on memory that is not there.
    """
    data = batch.data
    if _in_use.pop(id(data), None) is data:
        data.view(np.uint8).fill(POISON)
