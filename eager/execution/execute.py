"""Runs one operator: types -> shapes -> allocate -> kernel.

All interpreters call `execute` in the end, so a call gives the same bits whether it was made
eagerly or is a node of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.layout_hints import warn_of_channels_first
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.plan import Plan
from gradiva.eager.operators.ragged import ragged_rows
from gradiva.eager.random.generator import RandomKey
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import for_reading, on_cpu

from .error_policy import apply_error_policy, continues_on_error
from .per_frame import execute_frames, given_per_frame

__all__ = ["Repeated", "annotate_error", "backends", "execute", "prepare"]


class Repeated:
    """What the calls of one node share, which follow each other with other inputs: the rows of its
    fixed arguments, and the types of its outputs for those of its inputs."""

    __slots__ = ("_rows", "_types")

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Any, int, Any]] = {}
        self._types: tuple[Any, dict[str, Any], tuple[SampleType, ...]] | None = None

    def rows(self, argument: Argument, value: Any, size: int) -> Any:
        """As `Argument.rows`. Nobody writes into them."""
        known = self._rows.get(argument.name)
        if known is not None and known[0] is value and known[1] == size:
            return known[2]
        made = argument.rows(value, size)
        self._rows[argument.name] = value, size, made
        return made

    def types(
        self, operator: OperatorBase, inputs: list[SampleType], static: dict[str, Any]
    ) -> tuple[SampleType, ...]:
        """As `OperatorBase.types`."""
        known = self._types
        if known is not None and known[0] == inputs and _are_same(known[1], static):
            return known[2]
        made = operator.types(inputs, static)
        self._types = inputs, static, made
        return made


def _are_same(known: dict[str, Any], static: dict[str, Any]) -> bool:
    """Whether these are the same arguments: fixed values, and types of those per sample."""
    return known.keys() == static.keys() and all(
        value is static[name] or (isinstance(value, SampleType) and value == static[name])
        for name, value in known.items()
    )


def _arguments(
    operator: OperatorBase, given: Mapping[str, Any], size: int, repeated: Repeated | None
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The arguments that were given: their values, with a row for each sample where they may differ
    between samples; what the type rule sees of them; and the names of those given per sample."""
    rows: dict[str, Any] = {}
    static: dict[str, Any] = {}
    edges: list[str] = []
    for name, value in given.items():
        argument = operator.arguments[name]
        if isinstance(value, Batch | np.ndarray):
            edges.append(name)
        if isinstance(value, Batch):
            static[name] = value.type
            if argument.kind.shaped:
                rows[name] = value
            elif argument.kind.ragged or (argument.kind.uneven and not value.batch_shape.uniform):
                rows[name] = ragged_rows(argument, [value.array(i) for i in range(size)])
            else:
                rows[name] = argument.given_rows(_parameter_rows(argument, value), size)
        elif isinstance(value, np.ndarray):
            static[name] = SampleType(None, value.ndim - 1, "")
            checked = argument.given_rows(value, size)
            rows[name] = list(checked) if argument.kind.ragged else checked
        elif argument.kind.element is not None:
            static[name] = value
            if repeated is None:
                rows[name] = argument.rows(value, size)
            else:
                rows[name] = repeated.rows(argument, value, size)
        else:
            static[name] = rows[name] = value
    return rows, static, edges


def prepare(
    operator: OperatorBase,
    inputs: tuple[Batch, ...],
    given: Mapping[str, Any],
    size: int,
    pool: WorkerPool,
    key: RandomKey | None = None,
    positions: np.ndarray[Any, np.dtype[np.int64]] | None = None,
    collect_failures: bool = False,
    repeated: Repeated | None = None,
    frames: Any = None,
) -> Call:
    """The call with its arguments resolved, and the types and shapes of its outputs.

    collect_failures: note samples that cannot be read in `failures`, instead of raising. repeated:
    what was found in earlier calls of the same node.
    """
    rows, static, edges = _arguments(operator, given, size, repeated)
    of_inputs = [batch.type for batch in inputs]
    if repeated is None:
        types = operator.types(of_inputs, static)
    else:
        types = repeated.types(operator, of_inputs, static)
    call = Call(operator, inputs, rows, size, pool)
    call.types, call.given = types, given
    call.key, call.positions, call.frames = key, positions, frames
    call.edges = frozenset(edges)
    call.failures = {} if collect_failures else None
    if operator.shape_rule is None:
        raise OperatorRuntimeError("the operator has no shape rule: declare one with `.shapes`")
    shapes = operator.shape_rule(call)
    if isinstance(shapes, Plan):
        call.plan, shapes = shapes, shapes.shapes
    if not isinstance(shapes, tuple):
        shapes = (shapes,)
    batch_shapes, known = [], []
    for shape, inferred in zip(shapes, call.types, strict=True):
        if isinstance(shape, BatchShape):
            batch_shape = shape if shape.packed else BatchShape.of(shape.shapes)
        else:
            batch_shape = BatchShape.of(shape)
        batch_shapes.append(batch_shape)
        type = inferred
        if type.ndim is None or type.layout is None:
            type = type.with_(ndim=batch_shape.ndim, layout=type.layout or "")
        known.append(type)
    call.types, call.batch_shapes = tuple(known), tuple(batch_shapes)
    if inputs and not inputs[0].type.layout and known:
        warn_of_channels_first(operator.name, inputs[0], known[0])
    return call


def execute(
    operator: OperatorBase,
    inputs: tuple[Batch, ...],
    given: Mapping[str, Any],
    size: int,
    pool: WorkerPool,
    key: RandomKey | None = None,
    positions: np.ndarray[Any, np.dtype[np.int64]] | None = None,
    device: Device = CPU,
) -> tuple[Batch, ...]:
    """Run `operator` on batches of `size` samples and return its outputs.

    device: where it runs and where the outputs are; inputs that are elsewhere are copied there. On
    a GPU it is queued on the current stream.

    given: the arguments that were given; static ones converted by `Argument.static`, per-sample
    ones as a Batch or an array with one row per sample. key, positions: of random operators.
    Outputs that have lost samples (`on_error="skip"`) say so in `valid`.
    Raises GradivaError without the user's line.
    """
    where: Provenance | None = None
    for batch in inputs:
        if batch.provenance is not None:
            where = batch.provenance
            break
    valid = inputs[0].valid if inputs else None
    lack: str | None = None
    try:
        if operator.transfers and inputs[0].device != device:
            return (Batch.to_device(inputs[0], device),)
        work: Any = backends[device.device_type](operator, device)
        moved = [to_required_device(operator, k, batch, device) for k, batch in enumerate(inputs)]
        inputs = tuple(moved)
        if operator.frames and given_per_frame(operator.frames, inputs, given):
            return execute_frames(prepare, operator, inputs, given, size, pool, work, device)
        goes_on = "on_error" in given and continues_on_error(given)
        call = prepare(operator, inputs, given, size, pool, key, positions, goes_on)
        if operator.view_rule is not None:
            call.outputs = (operator.view_rule(call),)
            return call.outputs
        kinds = zip(call.batch_shapes, call.types, strict=True)
        made = [Batch.empty(batch_shape, type, where, device) for batch_shape, type in kinds]
        call.outputs = tuple(made)
        if size:
            work(call)
    except GradivaError as error:
        raise annotate_error(error, operator, where) from error.__cause__
    except MemoryError as error:
        lack = str(error)
    if lack is not None:
        # Not raised from the other error, whose frames refer to memory that the next batch may
        # need.
        raise OperatorRuntimeError(
            f"not enough memory for the outputs ({lack})", operator=operator.name
        )
    if call.failures:
        return apply_error_policy(call.outputs, call.failures, given, operator.name, where, valid)
    return call.outputs


def _on_cpu(operator: OperatorBase, device: Device) -> Callable[[Call], None]:
    return operator.kernels.get("cpu", _no_kernel)


def _no_kernel(_call: Call) -> None:
    raise OperatorRuntimeError("the operator has no kernel: declare one with `.cpu`")


backends: dict[str, Callable[[OperatorBase, Device], Callable[[Call], None]]] = {"cpu": _on_cpu}
"""By kind of device: the function that fills the outputs of a call of an operator there; it raises
OperatorRuntimeError if there is none. eager/execution/eager_interpreter.py adds that of a GPU,
which stands on this module."""


def to_required_device(operator: OperatorBase, number: int, batch: Batch, device: Device) -> Batch:
    """The input with this number, on the device where its call needs it."""
    first = operator.host_from
    wanted = CPU if operator.mixed or (first is not None and number >= first) else device
    if operator.metadata:
        return batch
    data = batch.data
    if batch.device is not wanted:
        return Batch.to_device(batch, wanted)
    if wanted is CPU and operator.view_rule is None and not data.flags.writeable:
        return Batch.over(for_reading(data), batch.batch_shape, batch.type, batch.provenance)
    return batch


def annotate_error(
    error: GradivaError, operator: OperatorBase, where: Provenance | None
) -> GradivaError:
    """The error with the operator and the sample's file."""
    if error.sample is not None and where is not None and error.file is None:
        error.file = where.name(error.sample)
    return error.complete(operator=operator.name)


def _parameter_rows(argument: Argument, value: Batch) -> np.ndarray[Any, Any]:
    if not value.batch_shape.uniform:
        raise OperatorValueError(
            argument=argument.name,
            expected="values of one shape for all samples",
            got=f"the shapes {value.shape[:4]}",
        )
    rows = value.as_array()
    return rows if not on_cpu(rows) or rows.flags.writeable else for_reading(rows)
