"""Runs splits and merges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.capture.graph.scopes import Scope, Selection
from gradiva.eager.execution.error_policy import with_mask
from gradiva.eager.operators.call import Call
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch
from gradiva.ops.math.branches import merge, merge_batches, select

from .node_inputs import value_of


def part(node: Node, outer: Scope | None, selection: Selection, values: Any) -> tuple[Batch, Batch]:
    """The output of a `split` in the scope `outer`."""
    edge, predicate = node.inputs
    selection.see(predicate, values[predicate[:2]], outer)
    inside = selection.mask(outer)
    batch = value_of(edge, values, selection.count(outer), selection.mark(outer))

    def side(number: int) -> Batch:
        scope = Scope(predicate.node, predicate.output, number, outer)
        mask = selection.mask(scope)
        assert mask is not None
        chosen = select(batch, np.flatnonzero(mask if inside is None else mask[inside]))
        return with_mask(chosen, mask) if selection.may_lose else chosen

    return side(0), side(1)


def join(
    node: Node,
    outer: Scope | None,
    selection: Selection,
    values: Any,
    pool: WorkerPool,
    device: Device,
) -> Batch:
    """The output of a `merge`, on a device. Raises OperatorTypeError if the branches do not fit
    together, OperatorRuntimeError if there is no memory for it."""
    predicate = node.inputs[2]
    selection.see(predicate, values[predicate[:2]], outer)
    sides = [Scope(predicate.node, predicate.output, side, outer) for side in (0, 1)]
    true, false = (
        value_of(edge, values, selection.count(side), selection.mark(side)).to_device(device)
        for edge, side in zip(node.inputs, sides, strict=False)
    )
    inside, mask = selection.mask(outer), selection.mask(sides[0])
    assert mask is not None
    mask = mask if inside is None else mask[inside]

    def run(copy: Callable[[int], None], target: Batch) -> None:
        def copy_all(begin: int, end: int) -> None:
            for sample in range(begin, end):
                copy(sample)

        call = Call(merge, (), {}, len(mask), pool)
        call.outputs = (target,)
        call.for_samples(copy_all)

    merged = merge_batches(true, false, mask, node.type[0], run)
    mark = selection.mark(outer)
    return merged if mark is None else with_mask(merged, mark)
