"""Calls that have not run yet, and values that stand for their results.

A lazy value is a Batch or a Tensor whose data come when somebody looks at them. A chain of pending
calls is a graph without a frame: when a value is asked for, the calls it needs are compiled, once
per structure, and run together (see `program_cache`).
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradiva.capture.runtime.program import Positions
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.keys import RandomKey
from gradiva.eager.support.errors import Location
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.device import CPU
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.drawn import Drawn
from gradiva.eager.values.tensor import Tensor

from .places import LazyPlace

__all__ = ["Home", "LazyBatch", "LazyTensor", "Leaf", "Pending", "Ref", "leaf_of"]


class Home(Protocol):
    """Who decides how a pending call gets its values, and knows whose values are its own."""

    def force(self, pending: Pending) -> None: ...

    def find(self, value: Any) -> Ref | None: ...

    def is_constant(self, value: Any, count: int) -> bool:
        """Whether an array of `count` elements is part of the program, and not data."""

    def show(self, value: LazyBatch | LazyTensor) -> None:
        """The user gets at the memory of a value, and may write into it."""


class Leaf:
    """A value that is there: a batch, or a constant that is part of the program.

    number: no other leaf has it, also after this one is gone.
    """

    __slots__ = ("__weakref__", "array", "batch", "layout", "number")

    def __init__(self, batch: Batch, array: np.ndarray[Any, Any] | None = None) -> None:
        self.batch = batch
        self.array = array
        self.layout = batch.layout
        self.number = next(_numbers)

    @property
    def plain(self) -> Batch:
        """The batch, with its data there."""
        return self.batch._look() if isinstance(self.batch, LazyBatch) else self.batch


_numbers = itertools.count()


class Ref(NamedTuple):
    """One output of a pending call, or a leaf; `argument` names what it feeds, None: an input."""

    source: Pending | Leaf
    output: int
    argument: str | None = None


class Pending:
    """One call that was noted down. `values` are its outputs, once it has run.

    observed: the outputs that somebody has looked at; shown: those whose memory the user has got
    at; readers: how many pending calls read it; own_key: whether its random values belong to the
    captured loop that it is in; droppers: the calls, it and those before it, by their `serial`,
    that may leave out samples and had not run when it was made: until then its size is what it
    would be if none does; context: the EvalContext in force, in deferred mode; device: where it
    runs and its outputs are; drawn_at: the mark of its values (see `gradiva.eager.values.drawn`).
    """

    __slots__ = (
        "__weakref__", "attributes", "context", "device", "drawn_at", "droppers", "handed", "home",
        "inputs", "key", "location", "name", "observed", "operator", "own_key", "positions",
        "readers", "serial", "shown", "signature", "single", "size", "types", "values",
    )  # fmt: skip

    def __init__(
        self,
        operator: OperatorBase,
        inputs: tuple[Ref, ...],
        attributes: dict[str, Any],
        types: tuple[SampleType, ...],
        size: int,
        single: bool,
        home: Home,
        location: Location | None,
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.attributes = attributes
        self.types = types
        self.size = size
        self.single = single
        self.home = home
        self.location = location
        self.key: RandomKey | None = None
        self.positions: Positions | None = None
        self.own_key = False
        self.name: str | None = None
        self.signature: Any = None
        self.values: tuple[Batch, ...] | None = None
        self.observed: set[int] = set()
        self.shown: dict[int, Any] = {}
        self.readers = 0
        self.serial = 0
        self.droppers: frozenset[int] = frozenset()
        self.handed: list[weakref.ref[Any]] = []
        self.context: object = None
        self.device = CPU
        self.drawn_at: Drawn = None

    def hand_out(self) -> tuple[Any, ...]:
        """The values that stand for the outputs, for the user."""
        kind = LazyTensor if self.single else LazyBatch
        made = tuple(kind(self, output) for output in range(len(self.types)))
        self.handed = [weakref.ref(value) for value in made]
        return made

    @property
    def wanted(self) -> bool:
        """Whether somebody still holds one of the values."""
        return any(value() is not None for value in self.handed)

    def value(self, output: int) -> Batch:
        """An output; runs the call if need be."""
        if self.values is None:
            self.home.force(self)
        assert self.values is not None
        return self.values[output]

    def settle(self, values: tuple[Batch, ...]) -> None:
        """The call has run: what it needed can go."""
        self.values = values
        self.inputs = ()
        self.shrink()

    def shrink(self) -> None:
        """Take the size of the values: samples may have been left out."""
        if self.values and not self.single:
            self.size = len(self.values[0])

    def twin(self) -> Pending:
        """The call with a copy of its values, for somebody who may write into them."""
        assert self.values is not None
        made = Pending(
            self.operator, (), {}, self.types, self.size, self.single, self.home, self.location
        )
        made.drawn_at = self.drawn_at
        made.values = tuple(
            Batch(one.data.copy(), one.geometry, one.type, one.provenance) for one in self.values
        )
        return made


class LazyBatch(LazyPlace, Batch):  # type: ignore[override]
    """A batch whose data come when somebody looks at them."""

    __slots__ = ("output", "pending")

    pending: Pending

    def __init__(self, pending: Pending, output: int) -> None:
        self.pending = pending
        self.output = output

    def _look(self) -> Batch:
        self.pending.observed.add(self.output)
        return self.pending.value(self.output)

    def __len__(self) -> int:
        if self.pending.droppers and self.pending.values is None:
            self.pending.value(self.output)
        return self.pending.size

    @property
    def batch_size(self) -> int:
        return len(self)

    @property
    def expected(self) -> int:
        """The size, or what it is if no sample is left out."""
        return self.pending.size

    def places(self) -> Positions | None:
        """The positions of the samples; without computing anything where none can be left out."""
        pending = self.pending
        if pending.droppers and pending.values is None:
            pending.value(self.output)
        if pending.values is not None:
            return pending.values[self.output].positions
        for ref in pending.inputs:
            batch = ref.source.batch if isinstance(ref.source, Leaf) else None
            if ref.argument is not None:
                continue
            if batch is None:
                batch = LazyBatch(ref.source, ref.output)  # type: ignore[arg-type]
            found = batch.places() if isinstance(batch, LazyBatch) else batch.positions
            if found is not None:
                return found
        return None

    @property
    def data(self) -> np.ndarray[Any, Any]:  # type: ignore[override]
        self.pending.home.show(self)
        return self._look().data

    @property
    def geometry(self) -> Geometry:  # type: ignore[override]
        return self._look().geometry

    @property
    def type(self) -> SampleType:  # type: ignore[override]
        known = self.pending.types[self.output]
        if None in (known.dtype, known.ndim, known.layout):
            return self._look().type
        return known

    @property
    def provenance(self) -> Provenance | None:  # type: ignore[override]
        return self._look().provenance

    @property
    def ndim(self) -> int:
        known = self.type.ndim
        return self._look().ndim if known is None else known


class LazyTensor(LazyPlace, Tensor):  # type: ignore[override]
    """A tensor whose data come when somebody looks at them."""

    __slots__ = ("output", "pending")

    pending: Pending

    def __init__(self, pending: Pending, output: int) -> None:
        self.pending = pending
        self.output = output

    def _look(self) -> Tensor:
        self.pending.observed.add(self.output)
        return self.pending.value(self.output).tensors[0]

    @property
    def _array(self) -> Any:  # type: ignore[override]
        self.pending.home.show(self)
        return self._look()._array

    @property
    def layout(self) -> str:  # type: ignore[override]
        known = self.pending.types[self.output].layout
        return self._look().layout if known is None else known

    @property
    def provenance(self) -> Provenance | None:  # type: ignore[override]
        return self._look().provenance


_leaves: weakref.WeakValueDictionary[int, Leaf] = weakref.WeakValueDictionary()


def leaf_of(batch: Batch) -> Leaf:
    """The one leaf of a batch. (It holds the batch, so the batch's id is its own.)"""
    leaf = _leaves.get(id(batch))
    if leaf is None:
        leaf = _leaves[id(batch)] = Leaf(batch)
    return leaf
