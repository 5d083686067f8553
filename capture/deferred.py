"""Deferred mode: a call is noted down, and runs when somebody looks at a result."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np

from gradiva.eager.arguments import Argument, is_edge
from gradiva.eager.batch import Batch
from gradiva.eager.dynamic import (
    as_argument,
    as_input,
    batch_size_of,
    positions_of,
    random_key,
    split_common,
)
from gradiva.eager.errors import GradivaError, user_location
from gradiva.eager.geometry import Geometry
from gradiva.eager.memory import is_leased
from gradiva.eager.modes import lazy_interpreter
from gradiva.eager.operator import OperatorBase, eager_interpreter, interpreter
from gradiva.eager.run import execute
from gradiva.eager.tensor import Tensor
from gradiva.eager.threads import default_pool
from gradiva.eager.value import SampleType, Value

from .graph import Opaque
from .lazy import Home, LazyBatch, LazyTensor, Leaf, Pending, Plans, Ref, evaluate, leaf_of

__all__ = ["Deferred", "note", "run_now"]

_CONSTANT = 16
"""Arrays of at most so many elements are part of the program, larger ones are data."""

_serial = itertools.count()


def note(
    home: Home, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Pending:
    """One call as a Pending, with its arguments resolved and its types inferred.

    Raises what the eager call would raise for its names, arguments and types; what hangs on shapes
    is raised when the call runs.
    """
    operator.check(inputs, keywords)
    given, common = split_common(operator, keywords)
    size, single = batch_size_of(operator, inputs, given, common)
    refs = [_input(home, value, size, index) for index, value in enumerate(inputs)]
    attributes: dict[str, Any] = {}
    for name, value in given.items():
        argument = operator.arguments[name]
        if is_edge(argument, value):
            refs.append(_argument(home, argument, value, size))
        else:
            static = as_argument(argument, value, size)
            attributes[name] = _hashable(static)
    # Drawn before the types are checked, as in dynamic mode: a call that fails counts as well.
    key = random_key(common) if operator.random else None
    types = _infer(operator, refs, attributes)
    pending = Pending(operator, tuple(refs), attributes, types, size, single, home, user_location())
    pending.serial = next(_serial)
    pending.name = common.get("name")
    if operator.random:
        pending.key = key
        pending.positions = positions_of((), size)
    for ref in refs:
        if isinstance(ref.source, Pending):
            ref.source.readers += 1
    return pending


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return Opaque(value)
    return Opaque(value) if callable(value) else value


def _input(home: Home, value: Any, size: int, index: int) -> Ref:
    known = home.find(value)
    if known is not None:
        return known
    if isinstance(value, Batch):
        return Ref(leaf_of(_snapshot(value)), 0)
    batch = as_input(value, size, index)
    return Ref(_small(batch, isinstance(value, Tensor)), 0)


def _argument(home: Home, argument: Argument, value: Any, size: int) -> Ref:
    known = home.find(value)
    if known is not None:
        return known._replace(argument=argument.name)
    if isinstance(value, Batch):
        return Ref(leaf_of(_snapshot(value)), 0, argument.name)
    rows = as_argument(argument, value, size)
    if not isinstance(rows, np.ndarray):
        rows = np.asarray(rows)
    # One row per sample: a batch whose samples are the rows.
    checked = np.ascontiguousarray(argument.given_rows(rows, size))
    type = Tensor(checked).type.with_(ndim=checked.ndim - 1, layout="")
    geometry = Geometry.equal(size, checked.shape[1:])
    batch = Batch(checked.reshape(-1).copy(), geometry, type)
    return Ref(leaf_of(batch), 0, argument.name)


def _small(batch: Batch, tensor: bool) -> Leaf:
    """A constant of the program, if it is small; else data like a batch."""
    if batch.data.size > _CONSTANT or (tensor and batch.provenance is not None):
        return leaf_of(_snapshot(batch))
    array = np.array(batch.data).reshape(batch.geometry.shape(0)) if len(batch) else batch.data
    array.flags.writeable = False
    return Leaf(batch, array)


def _snapshot(batch: Batch) -> Batch:
    """The batch as it is now: memory that somebody else may write is copied."""
    if isinstance(batch, LazyBatch) or is_leased(batch.data):
        return batch
    return Batch(batch.data.copy(), batch.geometry, batch.type, batch.provenance)


def run_now(pending: Pending) -> None:
    """Run one call at once, as dynamic mode does. It keeps its inputs. Raises GradivaError."""
    inputs = []
    given = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in pending.attributes.items()
    }
    for ref in pending.inputs:
        source = ref.source
        batch = source.batch if isinstance(source, Leaf) else source.value(ref.output)
        if isinstance(source, Pending) and source.single and not pending.single:
            geometry = Geometry.repeated(pending.size, batch.geometry.shape(0))
            batch = Batch(batch.data, geometry, batch.type)
        if ref.argument is None:
            inputs.append(batch)
        else:
            given[ref.argument] = batch
    positions = pending.positions
    for batch in inputs:
        if batch.positions is not None:
            positions = batch.positions
            break
    try:
        pending.values = execute(
            pending.operator, tuple(inputs), given, pending.size, default_pool(), pending.key,
            positions,
        )  # fmt: skip
    except GradivaError as error:
        raise error.complete(location=pending.location) from error.__cause__


def _infer(
    operator: OperatorBase, refs: list[Ref], attributes: dict[str, Any]
) -> tuple[SampleType, ...]:
    """The types of the outputs, as far as they can be known before anything runs."""
    inputs, given = [], {}
    for name, value in attributes.items():
        given[name] = value.value if isinstance(value, Opaque) else value
    for ref in refs:
        source = ref.source
        type = source.batch.type if isinstance(source, Leaf) else source.types[ref.output]
        if isinstance(source, Pending) and source.values is not None:
            type = source.values[ref.output].type
        if ref.argument is None:
            inputs.append(type)
        else:
            given[ref.argument] = type
    types = operator.infer(*inputs, **given)
    return types if isinstance(types, tuple) else (types,)


class Deferred:
    """The interpreter of deferred mode."""

    def __init__(self, plans: Plans | None = None) -> None:
        self.plans = Plans() if plans is None else plans
        self._waiting: weakref.WeakSet[Pending] = weakref.WeakSet()
        self._lock = threading.RLock()

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if operator.effects or _is_symbolic(inputs, keywords):
            with interpreter(eager_interpreter()):
                return eager_interpreter().bind(operator, inputs, keywords)
        pending = note(self, operator, inputs, keywords)
        with self._lock:
            self._waiting.add(pending)
        made = pending.hand_out()
        return made[0] if len(made) == 1 else made

    def find(self, value: Any) -> Ref | None:
        """The call that a lazy value came from, whoever noted it down."""
        if isinstance(value, LazyBatch):
            return Ref(value.pending, value.output)
        if isinstance(value, LazyTensor) and value.pending.home is self:
            return Ref(value.pending, value.output)
        return None

    def force(self, pending: Pending) -> None:
        """Run a call, and with it those that nobody has read yet and that belong to it."""
        with self._lock:
            if pending.values is not None:
                return
            others = [
                other
                for other in self._waiting
                if other is not pending and other.values is None and other.size == pending.size
                and other.readers == 0 and other.wanted and _related(other, pending)
            ]  # fmt: skip
            together = sorted([pending, *others], key=lambda call: call.serial)
            try:
                evaluate(together, self.plans)
            except GradivaError:
                if not others:
                    raise
                evaluate([pending], self.plans)  # the defect of another result is not ours
            for call in together:
                self._waiting.discard(call)

    def force_together(self, pending: list[Pending]) -> None:
        """Run several calls, all of one size in one program."""
        with self._lock:
            for size in sorted({call.size for call in pending}):
                chosen = {call for call in pending if call.size == size and call.values is None}
                evaluate(sorted(chosen, key=lambda call: call.serial), self.plans)

    def evaluate_all(self) -> None:
        """Run every call whose result somebody still holds."""
        for pending in sorted(self._waiting, key=lambda call: call.serial):
            if pending.wanted and pending.values is None:
                self.force(pending)


def _is_symbolic(inputs: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether the call is about symbols of a graph, which the eager interpreter refuses."""
    return any(
        isinstance(value, Value) and not isinstance(value, Batch | Tensor)
        for value in (*inputs, *keywords.values())
    )


def _related(one: Pending, other: Pending) -> bool:
    """Whether two calls need a call in common, which would otherwise run twice."""
    return bool(_ancestors(one) & _ancestors(other))


def _ancestors(pending: Pending) -> set[Pending]:
    found: set[Pending] = set()
    waiting = [pending]
    while waiting:
        for ref in waiting.pop().inputs:
            source = ref.source
            if isinstance(source, Pending) and source.values is None and source not in found:
                found.add(source)
                waiting.append(source)
    return found


lazy_interpreter[:] = [Deferred()]
