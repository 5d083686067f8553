"""Runs a fused group: one pass over each sample, row by row, from the source to the final batch.

A group is: perhaps a decoder, then views (crop, flip), then perhaps a resize, then views, then
pixel-wise steps, then perhaps a change to planes. A decoder makes its samples one by one, in
memory that is still in the cache when the rest of the group reads it. What does not suit the
kernels raises `NotFusableError` before any work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.capture.compiler.eligibility import is_expression
from gradiva.capture.graph.graph import Node, Opaque
from gradiva.eager.execution.error_policy import continues_on_error
from gradiva.eager.execution.execute import annotate_error, prepare
from gradiva.eager.execution.per_frame import given_per_frame
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import ToPlanar
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError, SampleDataError
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.dtypes import bfloat16, float16
from gradiva.eager.values.batch import Batch

from .fused_cpu import FusedLoop
from .fused_expression import run_expression
from .fused_gpu import run_launches
from .fusion_report import NotFusableError, Reason

__all__ = ["run_group"]

Locate = Callable[[GradivaError, Node], GradivaError]
_NOTHING = np.empty(0, np.uint8)


def run_group(
    members: tuple[Node, ...],
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
    locate: Locate,
    device: Device = CPU,
) -> Batch:
    """The output of the group, on a device. Raises what a member's own call would raise, or
    NotFusableError.

    values, drawn: batches, and keys with positions of random calls, by the leaves of the group.
    """
    if not size:
        raise NotFusableError(Reason.EMPTY_BATCH)
    if device is not CPU and is_expression(members):
        return run_expression(members, values, size, pool, device)
    first = members[0].inputs[0]
    source = values[first.node, first.output]
    calls: list[Call] = []
    image = source
    for member in members:
        try:
            call = _prepared(member, image, values, drawn, size, pool)
        except GradivaError as error:
            if isinstance(error, SampleDataError) and continues_on_error(dict(member.attributes)):
                raise NotFusableError(Reason.BAD_SAMPLE) from None
            if calls:
                # Alone, the members before would have had their say before this.
                raise NotFusableError(Reason.MEMBER_ERROR) from None
            error = annotate_error(error, member.operator, source.provenance)
            raise locate(error, member) from error.__cause__
        rounded = calls and call.inputs[0].dtype in (float16, bfloat16)
        if rounded and not isinstance(member.operator.fusion_role, ToPlanar):
            raise NotFusableError(Reason.ROUNDING)
        calls.append(call)
        image = Batch.over(_NOTHING, call.batch_shapes[0], call.types[0], source.provenance)
        for dtype in (call.types[0].dtype, call.inputs[0].dtype):
            if dtype is bfloat16 or (dtype is float16 and device is CPU):
                raise NotFusableError(Reason.DTYPE, str(dtype))
    blame = functools.partial(_blame, members[0], source, locate)
    if device is not CPU:
        return run_launches(calls, source, image, device, blame)
    target = Batch.empty(image.batch_shape, image.type, source.provenance)
    try:
        FusedLoop(source, calls, target, blame).run()
    except GradivaError as error:
        if error.operator is None:  # of a member that has to be found: they run one by one
            raise NotFusableError(Reason.MEMBER_ERROR) from None
        if isinstance(error, SampleDataError) and continues_on_error(dict(members[0].attributes)):
            raise NotFusableError(Reason.BAD_SAMPLE) from None
        raise
    return target


def _blame(member: Node, source: Batch, locate: Locate, error: GradivaError) -> GradivaError:
    return locate(annotate_error(error, member.operator, source.provenance), member)


def _prepared(
    member: Node,
    image: Batch,
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
) -> Call:
    given: dict[str, Any] = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in member.attributes
        if name in member.operator.arguments
    }
    others: list[Batch] = []
    key, positions = None, None
    for edge in member.inputs[1:]:
        if edge.argument == "key":
            key, positions = drawn[edge.node]
            if image.positions is not None:
                positions = image.positions
            continue
        value = values[edge.node, edge.output]
        if edge.argument is None:
            others.append(value)
        else:
            given[edge.argument] = value
    if given_per_frame(member.operator.frames, (image, *others), given):
        raise NotFusableError(Reason.PER_FRAME, member.operator.name)
    return prepare(member.operator, (image, *others), given, size, pool, key, positions)
