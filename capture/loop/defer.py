"""Turns a call of dynamic mode into a pending call, or runs it immediately."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Opaque
from gradiva.capture.recording.attributes import as_attribute
from gradiva.eager.execution.eager_interpreter import (
    as_argument,
    as_input,
    batch_size_of,
    check_on_cpu,
    device_named,
    positions_of,
    random_key,
    split_common,
)
from gradiva.eager.execution.error_policy import check_not_single
from gradiva.eager.execution.execute import execute
from gradiva.eager.execution.shared_draws import warn_of_values
from gradiva.eager.operators.arguments import Argument, is_edge
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.host_memory import is_leased
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.schedules.settling import (
    Place,
    current_place,
    has_schedules,
    place_of,
    with_first_values,
    with_schedule_values,
)
from gradiva.eager.support.errors import GradivaError, user_location
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import is_owned
from gradiva.eager.values.random_origin import random_origin_of_call
from gradiva.eager.values.tensor import Tensor

from .concrete_inputs import ConcreteInput, concrete_input_of, snapshot_of
from .pending import Evaluator, LazyBatch, Pending, Ref

CONSTANT = 16
"""Arrays with at most this many elements are constants of the program; larger ones are data."""


def defer_call(
    evaluator: Evaluator, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Pending:
    """Create a Pending from a call: resolve its arguments and infer its types.

    Raises what the eager call would raise for wrong names, arguments and types. Errors that depend
    on shapes are raised when the call runs.
    """
    operator.check(inputs, keywords)
    given, common = split_common(operator, keywords)
    size, single = batch_size_of(operator, inputs, given, common)
    if single and not inputs and any(map(_is_per_sample, given.values())):
        here = current_place()
        size, single = 1 if here is None else len(here.positions), False
    check_not_single(given, single)
    refs = [_input(evaluator, value, size, index) for index, value in enumerate(inputs)]
    attributes: dict[str, Any] = {}
    for name, value in given.items():
        argument = operator.arguments[name]
        if is_edge(argument, value) and (argument.per_sample or not isinstance(value, Tensor)):
            refs.append(_argument(evaluator, argument, value, size))
        else:
            static = as_argument(argument, value, size)
            attributes[name] = as_attribute(static)
    # The random key is drawn before the types are checked, as in dynamic mode: a call that fails
    # counts as well.
    key = random_key(common) if operator.random else None
    where = _device(refs, common)
    types = _infer(operator, refs, attributes, where)
    pending = Pending(
        operator, tuple(refs), attributes, types, size, single, evaluator, user_location()
    )
    pending.device = where
    pending.drawn_at = random_origin_of_call(
        operator.name, operator.random, single, inputs, keywords
    )
    if pending.drawn_at is not None and not single:
        warn_of_values(operator.name, (*inputs, *given.values()))
    pending.name = common.get("name")
    if has_schedules(attributes):
        place = current_place(size)
        pending.progress = None if place is None else place.progress
        pending.positions = None if place is None else place.positions
    if operator.random:
        pending.key = key
        there = tuple(
            ref.source.batch
            for ref in refs
            if isinstance(ref.source, ConcreteInput) and ref.argument is None
        )
        pending.positions = positions_of(there, size, single)
    for ref in refs:
        if isinstance(ref.source, Pending):
            ref.source.note_reader(ref.output)
    return pending


def _is_per_sample(value: Any) -> bool:
    return isinstance(value, Schedule) and value.per_sample


def _device(refs: list[Ref], common: dict[str, Any]) -> Device:
    """The device of a call, as `device_for` finds it. Nothing is computed."""
    if "device" in common:
        return device_named(common["device"])
    inputs = [ref.source for ref in refs if ref.argument is None]
    found = [one.batch.device if isinstance(one, ConcreteInput) else one.device for one in inputs]
    return next((device for device in found if device is not CPU), CPU)


def _input(evaluator: Evaluator, value: Any, size: int, index: int) -> Ref:
    known = evaluator.find(value)
    if known is not None:
        return known
    if isinstance(value, Batch):
        return Ref(_concrete_input(value, value), 0)
    batch = as_input(value, size, index)
    return Ref(_from_outside(evaluator, value, batch), 0)


def _argument(evaluator: Evaluator, argument: Argument, value: Any, size: int) -> Ref:
    check_on_cpu(argument, value)
    known = evaluator.find(value)
    if known is not None:
        return known._replace(argument=argument.name)
    if isinstance(value, Batch):
        return Ref(_concrete_input(value, value), 0, argument.name)
    if isinstance(value, Tensor) and evaluator.is_constant(value, CONSTANT + 1):
        return Ref(_from_outside(evaluator, value, as_input(value, size, 0)), 0, argument.name)
    rows = as_argument(argument, value, size)
    if isinstance(rows, Batch):  # ragged
        return Ref(concrete_input_of(rows), 0, argument.name)
    if not isinstance(rows, np.ndarray):
        rows = np.asarray(rows)
    # A batch whose samples are the rows of the array.
    checked = np.ascontiguousarray(argument.given_rows(rows, size))
    type = Tensor.over(checked).type.with_(ndim=checked.ndim - 1, layout="")
    batch_shape = BatchShape.equal(size, checked.shape[1:])
    batch = Batch.over(checked.reshape(-1).copy(), batch_shape, type)
    return Ref(concrete_input_of(batch), 0, argument.name)


def _from_outside(evaluator: Evaluator, value: Any, batch: Batch) -> ConcreteInput:
    """A constant of the program if the value is small, otherwise data like a batch."""
    sample = isinstance(value, Tensor) and (batch.provenance is not None or batch.device is not CPU)
    if sample or not evaluator.is_constant(value, batch.data.size):
        return _concrete_input(value, batch)
    array = np.array(batch.data).reshape(batch.batch_shape.shape(0)) if len(batch) else batch.data
    array.flags.writeable = False
    return ConcreteInput(batch, array)


def _concrete_input(given: Any, batch: Batch) -> ConcreteInput:
    """What a call reads: `batch`, which holds the given value as it is now. Memory that others may
    write to is copied."""
    if isinstance(batch, LazyBatch):
        if batch.output not in batch.pending.exposed:
            batch.pending.note_reader(batch.output, 2)  # more than the one of a view
            return concrete_input_of(batch)
    elif is_owned(batch.data) if batch.device is not CPU else is_leased(batch.data):
        return concrete_input_of(batch)
    return snapshot_of(given, batch)


def run_now(pending: Pending) -> None:
    """Run one call immediately, as dynamic mode does. It keeps its inputs. Raises GradivaError."""
    inputs = []
    given = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in pending.attributes.items()
    }
    for ref in pending.inputs:
        source = ref.source
        batch = source.plain if isinstance(source, ConcreteInput) else source.value(ref.output)
        if isinstance(source, Pending) and source.single and not pending.single:
            batch_shape = BatchShape.repeated(pending.size, batch.batch_shape.shape(0))
            batch = Batch.over(batch.data, batch_shape, batch.type)
        if ref.argument is None:
            inputs.append(batch)
        else:
            given[ref.argument] = batch
    if has_schedules(given):
        place = place_of(inputs)
        if place is None and pending.progress is not None and pending.positions is not None:
            place = Place(pending.progress, pending.positions)
        try:
            given = with_schedule_values(pending.operator.arguments, given, place)
        except GradivaError as error:
            error = error.complete(operator=pending.operator.name, location=pending.location)
            raise error from error.__cause__
    positions = pending.positions
    for batch in inputs:
        if batch.positions is not None:
            positions = batch.positions
            break
    try:
        made = execute(
            pending.operator,
            tuple(inputs),
            given,
            pending.size,
            default_pool(),
            pending.key,
            positions,
            device=pending.device,
        )
        left = next((one.valid for one in made if one.valid is not None), None)
        if left is not None:  # the samples of this call, which may be some of the step's
            if pending.valid is not None and len(left) < len(pending.valid):
                left, part = pending.valid.copy(), left
                left[pending.valid] = part
            pending.valid = left
        pending.hold(made)
        pending.shrink()
    except GradivaError as error:
        raise error.complete(location=pending.location) from error.__cause__


def _infer(
    operator: OperatorBase, refs: list[Ref], attributes: dict[str, Any], where: Device
) -> tuple[SampleType, ...]:
    """The types of the outputs, as far as they are known before anything runs."""
    inputs, given = [], {}
    for name, value in attributes.items():
        given[name] = value.value if isinstance(value, Opaque) else value
    for ref in refs:
        source = ref.source
        type = source.batch.type if isinstance(source, ConcreteInput) else source.types[ref.output]
        if isinstance(source, Pending) and source.values is not None:
            type = source.values[ref.output].type
        if ref.argument is None:
            inputs.append(type)
        else:
            given[ref.argument] = type
    types = operator.types(inputs, {**with_first_values(operator.arguments, given)})
    return tuple(type.with_(device=where.device_type) for type in types)
