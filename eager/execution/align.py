"""`align`: selects the samples that all batches have, after some batches have dropped samples."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from gradiva.eager.random.step import current_step
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
)
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Value

from .error_policy import keep_rows

__all__ = ["align"]

V = TypeVar("V", bound=Value)


def align(*batches: V) -> tuple[V, ...]:
    """The samples that all batches have, in the order of the first: `images, labels = align(images,
    labels)` after `images` was decoded with `on_error="skip"`.

    Samples are known by their positions (`Batch.positions`). A batch without positions, such as
    random values, that is as long as the running step holds the samples of that step. Batches that
    are in step are returned themselves. In a pipeline definition samples leave all values of a
    step at once, so the symbols are returned as they are.

    Raises OperatorTypeError for what is no batch; OperatorValueError for batches of different sizes
    where the positions of one are not known, and for a position that a batch has twice.
    """
    with annotate_error("align"):
        if all(_is_symbol(value) for value in batches):
            return batches
        for value in batches:
            if not isinstance(value, Batch):
                raise OperatorTypeError(argument="batches", expected="batches", got=describe(value))
        return _aligned(batches)


def _is_symbol(value: Any) -> bool:
    return isinstance(value, Value) and not isinstance(value, Batch | Tensor)


def _aligned(batches: tuple[Any, ...]) -> tuple[Any, ...]:
    places = [_places(batch) for batch in batches]
    known = [place for place in places if place is not None]
    if len(known) < len(places):
        sizes = {len(batch) for batch in batches}
        if len(sizes) > 1:
            raise OperatorValueError(
                "a batch whose samples have no positions cannot be brought in step",
                expected="batches that come from a reader or a source",
                got=f"batches of {sorted(sizes)} samples",
            )
        return batches
    if all(np.array_equal(place, known[0]) for place in known[1:]):
        return batches
    for place in known:
        if len(np.unique(place)) < len(place):
            raise OperatorValueError("a batch has two samples of one position")
    common = known[0]
    for place in known[1:]:
        common = common[np.isin(common, place)]
    step = current_step()
    if step is not None:
        step.narrow(common)
    result = []
    for batch, place in zip(batches, known, strict=True):
        if np.array_equal(place, common):
            result.append(batch)
            continue
        order = np.argsort(place)
        result.append(keep_rows(batch, order[np.searchsorted(place[order], common)]))
    return tuple(result)


def _places(batch: Batch) -> Int64Array | None:
    """The positions of a batch. A batch that has not been computed yet may know them already."""
    ask = getattr(batch, "places", None)
    found: Int64Array | None = batch.positions if ask is None else ask()
    step = current_step()
    return found if found is not None or step is None else step.positions_of(len(batch))
