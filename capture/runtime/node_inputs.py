"""The inputs and arguments of a node in a run."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, Node, Opaque
from gradiva.eager.execution.error_policy import narrowed, with_mask
from gradiva.eager.schedules.settling import Place, has_schedules, place_of, with_schedule_values
from gradiva.eager.types.arrays import BoolVector
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.batch import Batch

Outputs = tuple[Batch, ...]
Values = dict[tuple[Node, int], Batch]


def resolve(
    node: Node,
    values: Values,
    size: int,
    valid: BoolVector | None = None,
    place: Place | None = None,
) -> tuple[Outputs, dict[str, Any]]:
    """The inputs of a node, and its arguments, for the `size` samples in the mask. place: that of
    schedules, where no input has one."""
    given: dict[str, Any] = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in node.attributes
        if name in node.operator.arguments
    }
    inputs: list[Batch] = []
    for edge in node.inputs:
        if edge.argument is None:
            inputs.append(value_of(edge, values, size, valid))
        elif edge.argument in node.operator.arguments:
            given[edge.argument] = value_of(edge, values, size, valid)
    if has_schedules(given):
        given = with_schedule_values(node.operator.arguments, given, place_of(inputs) or place)
    return tuple(inputs), given


def value_of(edge: Edge, values: Values, size: int, valid: BoolVector | None) -> Batch:
    """The batch of an edge, for the `size` samples in the mask. A constant has as many samples as
    its reader."""
    batch = values[edge.node, edge.output]
    if edge.node.operator is constant:
        batch = batch if len(batch) == size else constant_batch(edge.node, size)
        return batch if valid is None else with_mask(batch, valid)
    return batch if valid is None else narrowed(batch, valid)


def constant_batch(node: Node, size: int) -> Batch:
    """A constant, for this many samples."""
    array = node.attribute("value")
    batch_shape = BatchShape.repeated(size, array.shape)
    return Batch.over(array.reshape(-1), batch_shape, node.type[0])


def repeated(batch: Batch, size: int) -> Batch:
    """The first sample, repeated."""
    batch_shape = BatchShape.repeated(size, batch.batch_shape.shape(0))
    return Batch.over(batch.data, batch_shape, batch.type)
