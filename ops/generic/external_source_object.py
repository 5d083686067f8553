"""`ExternalSource`: the external source of dynamic mode, an object that is called."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.batch import Batch, as_batch
from gradiva.eager.device import device as to_device
from gradiva.eager.device import require_cpu
from gradiva.eager.errors import OperatorTypeError, OperatorValueError, blaming
from gradiva.eager.geometry import Geometry
from gradiva.eager.provenance import Provenance
from gradiva.eager.rng import enter_step, leave_step
from gradiva.eager.tensor import Tensor, as_tensor
from gradiva.eager.value import SampleType

from .external_source import declared_types
from .feed import Feed

__all__ = ["ExternalSource"]


class ExternalSource:
    """An external source in dynamic mode: each call takes the next item.

    source: a callable without arguments or an iterable, whose items are tensors (arrays) or
        batches (lists of arrays, or Batch).
    num_outputs, cycle, layout, dtype: see `external_source`.

    Raises StopIteration at the end of the data; with cycle="raise" the next call starts again.
    """

    def __init__(
        self,
        source: Any,
        num_outputs: int = 1,
        cycle: Any = None,
        device: Any = "cpu",
        layout: Any = None,
        dtype: Any = None,
    ) -> None:
        with blaming("ExternalSource"):
            require_cpu(to_device(device))
            self._feed = Feed(source, cycle)
            self._count = num_outputs
            self._types = declared_types(num_outputs, layout, dtype, None)
        self._token = object()
        self._position = 0
        self._ended = False

    def __call__(self, batch_size: int | None = None) -> Any:
        """The next item: a Tensor, or a Batch if the source returned one or `batch_size` is given
        (then a tensor is the same for all samples). A tuple if there are several outputs."""
        if self._ended:
            self._ended = False
            self._feed.restart()
        try:
            with blaming("ExternalSource"):
                item = self._feed.next(self._position)
        except StopIteration:
            self._ended = True
            leave_step(self._token)
            raise
        items = (item,) if self._count == 1 else tuple(item)
        with blaming("ExternalSource"):
            if len(items) != self._count:
                raise OperatorTypeError(
                    "the source returned the wrong thing",
                    expected=f"a tuple of {self._count} (num_outputs)",
                    got=f"{len(items)} values",
                )
            values = [
                _value(part, type, batch_size)
                for part, type in zip(items, self._types, strict=True)
            ]
        size = next((len(value) for value in values if isinstance(value, Batch)), 1)
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        for value in values:
            value.provenance = Provenance(positions)
        enter_step(self._token, positions)
        return values[0] if self._count == 1 else tuple(values)

    def __del__(self) -> None:
        if hasattr(self, "_token"):
            leave_step(self._token)


def _value(item: Any, type: SampleType, batch_size: int | None) -> Batch | Tensor:
    dtype, layout = type.dtype, type.layout
    if isinstance(item, Batch | list | tuple):
        made: Batch = as_batch(item, dtype, layout=layout)
        if batch_size is not None and len(made) > batch_size:
            raise OperatorValueError(
                "the source returned a batch that is too large",
                expected=f"at most {batch_size} samples",
                got=str(len(made)),
            )
        return Batch(made.data, made.geometry, made.type)
    tensor = as_tensor(item, dtype, layout=layout)
    if batch_size is None:
        return tensor
    array = np.asarray(tensor)
    return Batch(array.reshape(-1), Geometry.repeated(batch_size, array.shape), tensor.type)
