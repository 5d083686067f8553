"""Runs a fused group: one pass over each sample, row by row, from the source to the final batch.

A group is: perhaps a decoder, then views (crop, flip), then perhaps a resize, then views, then
pixel-wise steps, then perhaps a change to planes, then perhaps patches. A decoder makes its samples
one by one, in memory that is still in the cache when the rest of the group reads it. What does not
suit the kernels raises `NotFusableError` before any work. Groups that make spectra of audio are run
by `fused_spectra`, arithmetic on a GPU by `fused_expression`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradiva.capture.compiler.eligibility import is_expression
from gradiva.capture.graph.graph import Node, Opaque
from gradiva.eager.execution.error_policy import (
    continues_on_error,
    leave_out,
    quarantine_samples,
    skips,
)
from gradiva.eager.execution.execute import Repeated, annotate_error, prepare
from gradiva.eager.execution.per_frame import given_per_frame
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import ToPlanar
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.runtime.worker_pool import WorkerPool, shared_pool
from gradiva.eager.schedules.settling import Place, has_schedules, place_of, with_schedule_values
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.dtypes import bfloat16, float16
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.moved_together import moved_together

from .fused_cpu import FusedLoop
from .fused_expression import run_expression
from .fused_gpu import run_launches
from .fused_spectra import makes_spectra, run_spectra
from .fusion_report import NotFusableError, Reason

__all__ = ["Plans", "run_group"]

Locate = Callable[[GradivaError, Node], GradivaError]
PlaceOf = Callable[[Node], Place | None]
_NOTHING = np.empty(0, np.uint8)
_NOBODY = shared_pool(1)


class Plans(NamedTuple):
    """What the calls of members keep from one batch to the next.

    calls: those that depend on nothing but types and shapes; fixed: the arguments of each member
    that the graph holds, and what is made of them.
    """

    calls: dict[Node, Call]
    fixed: dict[Node, tuple[dict[str, Any], Repeated]]

    @classmethod
    def none(cls) -> Plans:
        """Nothing is known yet."""
        return cls({}, {})

    def arguments(self, member: Node) -> tuple[dict[str, Any], Repeated]:
        """The fixed arguments of a member, and what its calls share."""
        found = self.fixed.get(member)
        if found is None:
            given = {
                name: value.value if isinstance(value, Opaque) else value
                for name, value in member.attributes
                if name in member.operator.arguments
            }
            found = self.fixed[member] = given, Repeated()
        return found


def run_group(
    members: tuple[Node, ...],
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
    locate: Locate,
    place: PlaceOf,
    device: Device,
    plans: Plans,
) -> Batch:
    """The output of the group, on a device. Raises what a member's own call would raise, or
    NotFusableError.

    values, drawn: batches, and keys with positions of random calls, by the leaves of the group;
    place: of the schedules of a member, where its image has none; plans: of earlier batches, and
    for later ones.
    """
    if not size:
        raise NotFusableError(Reason.EMPTY_BATCH)
    if device is not CPU and is_expression(members):
        return run_expression(members, values, size, pool, device)
    first = members[0].inputs[0]
    source = values[first.node, first.output]
    head, policy = None, dict(members[0].attributes)
    skipping = device is CPU and skips(policy)
    if device is CPU and continues_on_error(policy):
        head = _first(members[0], source, values, drawn, size, pool, locate, place, plans)
        if skipping and head.failures:
            _fill_in_shapes(head)
    calls: list[Call] = []
    image = source
    for member in members:
        call = head if head is not None and not calls else None
        if call is None:
            call = _member_call(
                member, image, calls, values, drawn, size, pool, locate, place, plans
            )
        _check_dtypes(call, calls, _keeps_values(member))
        calls.append(call)
        image = Batch.over(_NOTHING, call.batch_shapes[0], call.types[0], source.provenance)
        if device is CPU and source.dtype is float16:
            raise NotFusableError(Reason.DTYPE, str(source.dtype), first=0)
    locate_error = functools.partial(_located, member=members[0], source=source, locate=locate)
    if device is not CPU:
        return run_launches(calls, source, image, device, locate_error)
    target = Batch.empty(image.batch_shape, image.type, source.provenance)
    _run_calls(calls, source, target, locate_error, skipping)
    failures = None if head is None else head.failures
    if not failures:
        return target
    if skipping and len(failures) == size:
        raise NotFusableError(Reason.BAD_SAMPLE)
    quarantine_samples(failures, members[0].operator.name, source.provenance)
    if not skipping:
        return target
    kept, valid = leave_out(sorted(failures), size, source.provenance, source.valid)
    target = moved_together(target, kept)
    target.valid = valid
    return target


def _fill_in_shapes(decoder: Call) -> None:
    """Samples whose headers cannot be read get the shape of one whose header can be, which other
    members of the group accept. Raises NotFusableError if there is none."""
    assert decoder.failures is not None
    if len(decoder.failures) == decoder.size:
        raise NotFusableError(Reason.BAD_SAMPLE)
    shapes = decoder.batch_shapes[0].shapes.copy()
    good = next(sample for sample in range(decoder.size) if sample not in decoder.failures)
    shapes[list(decoder.failures)] = shapes[good]
    decoder.batch_shapes = (BatchShape.of(shapes),)


def _member_call(
    member: Node,
    image: Batch,
    before: list[Call],
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
    locate: Locate,
    place: PlaceOf,
    plans: Plans,
) -> Call:
    """The call of a member whose first input is `image`. before: those of the members before it.

    Raises what the member's own call would raise, or NotFusableError.
    """
    try:
        call = _known(plans.calls, member, image, size, pool) if before else None
        if call is not None:
            return call
        call = _prepared(member, image, values, drawn, size, pool, place, plans)
    except NotFusableError as error:
        error.first = len(before)
        raise
    except GradivaError as error:
        if before:
            # Alone, the members before would have had their say before this.
            raise NotFusableError(Reason.MEMBER_ERROR, first=len(before)) from None
        raise _located(error, member, image, locate) from error.__cause__
    changes = len(member.inputs) > 1 or has_schedules(dict(member.attributes))
    if before and not changes:
        # Neither the threads nor the files of this batch shall be kept.
        like = Batch.over(_NOTHING, image.batch_shape, image.type)
        known = call.again((like,), _NOBODY)
        known.kept = {}
        plans.calls[member] = known  # last: other threads use it from now on
    return call


def _check_dtypes(call: Call, before: list[Call], keeps_values: bool) -> None:
    """Raise NotFusableError where a group would round otherwise than its members one by one.

    before: the calls of the members before this; keeps_values: see `_keeps_values`.
    """
    if before and call.inputs[0].dtype in (float16, bfloat16) and not keeps_values:
        raise NotFusableError(Reason.ROUNDING, first=len(before))
    for dtype in (call.types[0].dtype, call.inputs[0].dtype):
        if dtype is bfloat16:
            raise NotFusableError(Reason.DTYPE, str(dtype), first=len(before))


def _run_calls(
    calls: list[Call],
    source: Batch,
    target: Batch,
    locate_error: Callable[[GradivaError], GradivaError],
    skipping: bool,
) -> None:
    """Fill `target` on the CPU. Raises NotFusableError for an error of a member that has to be
    found, and where samples are skipped: it may be that of one that could not be read."""
    try:
        if makes_spectra(calls[-1]):
            run_spectra(source, calls, target)
        else:
            FusedLoop(source, calls, target, locate_error).run()
    except NotFusableError as error:
        if error.call is not None:
            error.first = calls.index(error.call)
        raise
    except GradivaError as error:
        if error.operator is None or skipping:
            raise NotFusableError(Reason.MEMBER_ERROR) from None
        raise


def _first(
    member: Node,
    image: Batch,
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
    locate: Locate,
    place: PlaceOf,
    plans: Plans,
) -> Call:
    """The call of a decoder that goes on after errors."""
    try:
        return _prepared(
            member, image, values, drawn, size, pool, place, plans, collect_failures=True
        )
    except GradivaError as error:
        raise _located(error, member, image, locate) from error.__cause__


def _keeps_values(member: Node) -> bool:
    """Whether values leave it as they come in: it may stand before the last rounding or after."""
    role = member.operator.fusion_role
    return isinstance(role, ToPlanar) or (isinstance(role, Pixelwise) and role.keeps_values)


def _located(error: GradivaError, member: Node, source: Batch, locate: Locate) -> GradivaError:
    return locate(annotate_error(error, member.operator, source.provenance), member)


def _known(
    calls: dict[Node, Call], member: Node, image: Batch, size: int, pool: WorkerPool
) -> Call | None:
    """The call of a member whose arguments are all fixed, where one was prepared for such a batch.

    Batches of one shape share it; what is ragged is prepared again. Within a group a call is
    prepared before its input has data: it cannot depend on them.
    """
    call = calls.get(member)
    if call is None or call.size != size:
        return None
    before = call.inputs[0]
    if before.batch_shape is not image.batch_shape or before.type != image.type:
        return None
    return call.again((image,), pool)


def _prepared(
    member: Node,
    image: Batch,
    values: dict[tuple[Node, int], Batch],
    drawn: dict[Node, tuple[Any, Any]],
    size: int,
    pool: WorkerPool,
    place: PlaceOf,
    plans: Plans,
    collect_failures: bool = False,
) -> Call:
    fixed, repeated = plans.arguments(member)
    given = dict(fixed)
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
    inputs = (image, *others)
    if has_schedules(given):
        given = with_schedule_values(
            member.operator.arguments, given, place_of(inputs) or place(member)
        )
    return prepare(
        member.operator, inputs, given, size, pool, key, positions, collect_failures, repeated
    )
