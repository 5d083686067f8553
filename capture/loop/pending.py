"""Calls that have not run yet, and values that stand for their results.

A lazy value is a Batch or a Tensor whose data are computed when they are read. A chain of pending
calls is a graph without a frame: when a value is asked for, the calls it needs are compiled, once
per structure, and run together (see `program_cache`).
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradiva.capture.runtime.program import Positions
from gradiva.eager.execution.error_policy import with_mask
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.generator import RandomKey
from gradiva.eager.support.errors import Location
from gradiva.eager.support.shared_state import SerialNumbers
from gradiva.eager.types.arrays import BoolVector
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device, DeviceLike
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.provenance import Progress, Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu
from gradiva.eager.values.random_origin import EagerRandomOrigin
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.arrays.copy import copy

from .concrete_inputs import ConcreteInput

__all__ = ["Evaluator", "LazyBatch", "LazyTensor", "Pending", "Ref"]


_serial = SerialNumbers()
_counting = threading.RLock()
"""Who has it counts a reader of some output; it is held for a few instructions only."""


def _after_fork() -> None:
    """In the child: another thread of the parent may have held the lock."""
    global _counting
    _counting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Evaluator(Protocol):
    """Decides how a pending call gets its values, and knows which values belong to it."""

    def force(self, pending: Pending) -> None: ...

    def find(self, value: Any) -> Ref | None: ...

    def is_constant(self, value: Any, count: int) -> bool:
        """Whether an array of `count` elements is a constant of the program, and not data."""

    def may_write(self, pending: Pending, output: int, exported: bool) -> bool:
        """Whether the user may write into an output that no call has read. exported: whether
        another library has access to the memory."""


class Ref(NamedTuple):
    """One output of a pending call, or a concrete input; argument: the argument that it is given
    for, or None for an input."""

    source: Pending | ConcreteInput
    output: int
    argument: str | None = None


class Pending:
    """One call that waits to be run. `values` are its outputs, once it has run.

    materialized: the outputs that have been read by the user; arrays: the memory of outputs as the
    user has it; exposed: the outputs that the user may have written into; readers: how many pending
    calls read each output; shared: whether its values lie in memory of others; own_key: whether its
    random values belong to the captured loop that it is in; progress: of the current step, for
    schedules; dropping_calls: the calls, it and those
    before it, by their `serial`, that may leave out samples and had not run when it was made: until
    then its size is what it would be if none does; valid: the mask of its samples, where others
    have left the step of a captured loop; context: the current EvalContext, in deferred mode;
    device: where it runs and its outputs are; drawn_at: the mark of its values (see
    `gradiva.eager.values.random_origin`).
    """

    __slots__ = (
        "__weakref__",
        "arrays",
        "attributes",
        "context",
        "device",
        "drawn_at",
        "dropping_calls",
        "evaluator",
        "exposed",
        "handles",
        "inputs",
        "key",
        "location",
        "materialized",
        "name",
        "operator",
        "own_key",
        "positions",
        "progress",
        "readers",
        "serial",
        "shared",
        "signature",
        "single",
        "size",
        "types",
        "valid",
        "values",
    )  # fmt: skip

    def __init__(
        self,
        operator: OperatorBase,
        inputs: tuple[Ref, ...],
        attributes: dict[str, Any],
        types: tuple[SampleType, ...],
        size: int,
        single: bool,
        evaluator: Evaluator,
        location: Location | None,
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.attributes = attributes
        self.types = types
        self.size = size
        self.single = single
        self.evaluator = evaluator
        self.location = location
        self.key: RandomKey | None = None
        self.positions: Positions | None = None
        self.progress: Progress | None = None
        self.own_key = False
        self.name: str | None = None
        self.signature: Any = None
        self.values: tuple[Batch, ...] | None = None
        self.materialized: set[int] = set()
        self.arrays: dict[int, Any] = {}
        self.exposed: set[int] = set()
        self.readers: dict[int, int] = {}
        self.shared = False
        self.serial = _serial.take()
        self.dropping_calls: frozenset[int] = frozenset()
        self.valid: BoolVector | None = None
        self.handles: list[weakref.ref[Any]] = []
        self.context: object = None
        self.device = CPU
        self.drawn_at: EagerRandomOrigin = None

    def make_outputs(self) -> tuple[Any, ...]:
        """The values that stand for the outputs, for the user."""
        kind, made = LazyTensor if self.single else LazyBatch, []
        self.handles = []
        for output in range(len(self.types)):
            value = kind(self, output)
            made.append(value)
            self.handles.append(weakref.ref(value))
        return tuple(made)

    def note_reader(self, output: int, count: int = 1) -> None:
        """Calls that read an output were made, in any thread. With too few of them counted, the
        user could write into memory that a call reads."""
        with _counting:
            self.readers[output] = self.readers.get(output, 0) + count

    @property
    def wanted(self) -> bool:
        """Whether one of the values is still referenced."""
        return any(value() is not None for value in self.handles)

    def value(self, output: int) -> Batch:
        """An output. Runs the call if necessary."""
        if self.values is None:
            self.evaluator.force(self)
        assert self.values is not None
        return self.values[output]

    def resolve(self, values: tuple[Batch, ...]) -> None:
        """The call has run: what it needed can go."""
        self.hold(values)
        self.drop_inputs()
        self.shrink()

    def hold(self, values: tuple[Batch, ...]) -> None:
        """Take the values that a program has computed, for as many samples as its batches have: of
        one value for them all, one is kept, since calls on one sample may read it, too."""
        if self.single:
            values = tuple(one.select([0]) if len(one) > 1 else one for one in values)
        self.values = tuple(one if one.valid is None else with_mask(one, None) for one in values)

    def drop_inputs(self) -> None:
        """Called when the call has run and nothing but its values is needed any more."""
        if self.operator.view_rule is not None:
            self.shared = self.shared or self._is_view_of_others()
        self.inputs = ()

    def shrink(self) -> None:
        """Set the size to that of the values: samples may have been dropped."""
        if self.values and not self.single:
            self.size = len(self.values[0])

    def array(self, output: int, exported: bool = False) -> Any:
        """The memory of an output, for the user. It is read-only unless nothing else can read it.
        exported: another library gets the memory, and may write into it."""
        found = self.arrays.get(output)
        if found is None or (exported and output not in self.exposed):
            self.materialized.add(output)
            batch = self.value(output)
            found = batch.array(0) if self.single else batch.data
            if not on_cpu(found) and output in self.readers:
                found = found.copy()  # other libraries can always write to memory on a GPU
            elif not on_cpu(found) or (
                self.evaluator.may_write(self, output, exported) and self._is_alone(output)
            ):
                self.exposed.add(output)
            else:
                found = found.view()
                found.flags.writeable = False
            self.arrays[output] = found
        return found

    def _is_alone(self, output: int) -> bool:
        """Whether the memory of an output holds no other value, and no call reads it."""
        return not (self.shared or output in self.readers or self._is_view_of_others())

    def _is_view_of_others(self) -> bool:
        """Whether it is a view of a value that the user or another call can read."""
        call = self
        while call.operator.view_rule is not None and (inputs := call.inputs):
            source, taken, _ = inputs[0]
            if not isinstance(source, Pending) or source.wanted or source.readers != {taken: 1}:
                return True
            call = source
        return call.shared or bool(call.exposed and call is not self)


class LazyValue:
    """The common part of LazyBatch and LazyTensor: what is known about the pending call."""

    __slots__ = ()

    pending: Pending
    output: int

    def __init__(self, pending: Pending, output: int) -> None:
        self.pending = pending  # type: ignore[misc]  # a slot
        self.output = output  # type: ignore[misc]

    def _materialize(self) -> Any:
        """The value itself. Computes it if necessary."""
        raise NotImplementedError

    def torch(self, *options: Any, **named: Any) -> Any:
        """See `Batch` and `Tensor`: torch may write into memory that no call has read."""
        self.pending.array(self.output, exported=True)
        return super().torch(*options, **named)  # type: ignore[misc]

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        self.pending.array(self.output, exported=True)
        return super().__dlpack__(stream, **options)  # type: ignore[misc]

    def evaluate(self) -> Any:
        """Run all calls that are needed, and return the value."""
        self._materialize()
        return self

    @property
    def drawn_at(self) -> EagerRandomOrigin:
        """The user's line where the random values that this value depends on were drawn."""
        return self.pending.drawn_at

    @property
    def device(self) -> Device:
        return self.pending.device

    @property
    def provenance(self) -> Provenance | None:
        found: Provenance | None = self._materialize().provenance
        return found

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Any:
        """The value on `device`: a call like any other, so it is deferred where others are."""
        where = to_device(device)
        if where == self.device:
            return self._materialize().to_device(where, True) if force_copy else self
        return copy.bind((self,), {"device": where})


class LazyBatch(LazyValue, Batch):  # type: ignore[override]
    """A batch whose data are computed when they are read."""

    __slots__ = ("output", "pending")

    valid = None

    def _materialize(self) -> Batch:
        self.pending.materialized.add(self.output)
        return self.pending.value(self.output)

    def __len__(self) -> int:
        if self.pending.dropping_calls and self.pending.values is None:
            self.pending.value(self.output)
        return self.pending.size

    @property
    def batch_size(self) -> int:
        return len(self)

    @property
    def expected(self) -> int:
        """The size, on the assumption that no sample is dropped."""
        return self.pending.size

    def places(self) -> Positions | None:
        """The positions of the samples. Nothing is computed if no sample can be dropped."""
        pending = self.pending
        if pending.dropping_calls and pending.values is None:
            pending.value(self.output)
        if pending.values is not None:
            return pending.values[self.output].positions
        for ref in pending.inputs:
            batch = ref.source.batch if isinstance(ref.source, ConcreteInput) else None
            if ref.argument is not None:
                continue
            if batch is None:
                batch = LazyBatch(ref.source, ref.output)  # type: ignore[arg-type]
            found = batch.places() if isinstance(batch, LazyBatch) else batch.positions
            if found is not None:
                whole = pending.valid is None or len(found) != len(pending.valid)
                return found if whole else found[pending.valid]
        return None

    @property
    def data(self) -> np.ndarray[Any, Any]:  # type: ignore[override]
        data: np.ndarray[Any, Any] = self.pending.array(self.output)
        return data

    @property
    def batch_shape(self) -> BatchShape:  # type: ignore[override]
        return self._materialize().batch_shape

    @property
    def type(self) -> SampleType:  # type: ignore[override]
        known = self.pending.types[self.output]
        if None in (known.dtype, known.ndim, known.layout):
            return self._materialize().type
        return known

    @property
    def ndim(self) -> int:
        known = self.type.ndim
        return self._materialize().ndim if known is None else known


class LazyTensor(LazyValue, Tensor):  # type: ignore[override]
    """A tensor whose data are computed when they are read."""

    __slots__ = ("output", "pending")

    def _materialize(self) -> Tensor:
        self.pending.materialized.add(self.output)
        return self.pending.value(self.output).tensors[0]

    @property
    def _array(self) -> Any:  # type: ignore[override]
        return self.pending.array(self.output)

    @property
    def layout(self) -> str:  # type: ignore[override]
        known = self.pending.types[self.output].layout
        return self._materialize().layout if known is None else known
