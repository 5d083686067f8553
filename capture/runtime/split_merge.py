"""Runs splits and merges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradiva.capture.graph.graph import Node
from gradiva.capture.graph.scopes import Scope, Selection
from gradiva.eager.operators.call import Call
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch
from gradiva.ops.conditional.branches import merge, merge_batches, select

from .node_inputs import value_of

__all__ = ["join", "part"]


def part(node: Node, outer: Scope | None, selection: Selection, values: Any) -> tuple[Batch, Batch]:
    """The output of a `split` in the scope `outer`."""
    edge, predicate = node.inputs
    selection.mask(predicate, values)
    size = selection.count(outer)
    batch = value_of(edge, values, size)
    true, false = (
        select(batch, selection.chosen(Scope(predicate.node, predicate.output, side, outer)))
        for side in (0, 1)
    )
    return true, false


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
    mask = selection.mask(predicate, values)
    true, false = (
        value_of(
            edge, values, selection.count(Scope(predicate.node, predicate.output, side, outer))
        ).to_device(device)
        for side, edge in enumerate(node.inputs[:2])
    )

    def run(copy: Callable[[int], None], target: Batch) -> None:
        def copy_all(begin: int, end: int) -> None:
            for sample in range(begin, end):
                copy(sample)

        call = Call(merge, (), {}, len(mask), pool)
        call.outputs = (target,)
        call.for_samples(copy_all)

    return merge_batches(true, false, mask, node.type[0], run)
