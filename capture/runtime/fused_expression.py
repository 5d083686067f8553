"""Groups of arithmetic on a GPU: a tree of operators is one launch, with the bits of the
operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.execution.execute import prepare
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch
from gradiva.ops.math.expression import Term, applied, expression_launch, operand

from .fusion_report import NotFusableError, Reason

if TYPE_CHECKING:
    from gradiva.capture.graph.graph import Node

_NOTHING = np.empty(0, np.uint8)


def run_expression(
    members: Sequence[Node],
    values: dict[tuple[Node, int], Batch],
    size: int,
    pool: WorkerPool,
    device: Device,
) -> Batch:
    """The output of a group of arithmetic. Raises NotFusableError for any error in one of its
    members: then they run one by one."""
    operands: list[Batch] = []
    terms: dict[Node, Term] = {}
    images = {node: batch for (node, _), batch in values.items()}
    try:
        for member in members:
            read = [edge.node for edge in member.inputs]
            for node in read:
                if node not in terms:
                    there = images[node].to_device(device)
                    images[node] = there
                    terms[node] = operand(len(operands), there.data.dtype)
                    operands.append(there)
            given = tuple(images[node] for node in read)
            call = prepare(member.operator, given, {}, size, pool)
            where = next((one.provenance for one in given if one.provenance is not None), None)
            images[member] = Batch.over(_NOTHING, call.batch_shapes[0], call.types[0], where)
            symbol = member.operator.fusion_role.symbol
            terms[member] = applied(symbol, *(terms[node] for node in read))
        image = images[members[-1]]
        target = Batch.empty(image.batch_shape, image.type, image.provenance, device)
        gpu_of(device).run([expression_launch(operands, target, terms[members[-1]])])
    except (GradivaError, MemoryError) as error:
        raise NotFusableError(Reason.OPERANDS, type(error).__name__) from None
    return target
