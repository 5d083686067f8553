"""GRADIVA_POISON=1, a setting for debugging: reads of released memory become visible.

Normally a released output stays alive as long as an array refers to it, so that stale views are
harmless, and a bug does not show. With this setting, outputs that are in use for a limited time are
copies, and are overwritten with bytes of 0xFF when they are released: integers become 255 or -1,
floating-point values NaN. The pool does the same to blocks that are returned to it, and to new
blocks, which shows kernels that read memory that they have not written.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gradiva.eager.runtime.host_memory import POISON
from gradiva.eager.runtime.memory_settings import settings

from .batch import Batch
from .buffers import on_cpu

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
    """Overwrite a batch that `mark_in_use` has copied. Other batches are not changed.

    Its memory exists as long as an array refers to it: a stale view shows wrong values, but never
    refers to freed memory.
    """
    data = batch.data
    if _in_use.pop(id(data), None) is data:
        data.view(np.uint8).fill(POISON)
