"""Deferred mode: a call becomes pending, and runs when one of its results is read."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from gradiva.eager.contexts.eval_modes import EvalContext, lazy_interpreter
from gradiva.eager.execution.error_policy import skips
from gradiva.eager.operators.interpreter import current_interpreter, eager_interpreter, interpreter
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import GradivaError, frameless, without_frames
from gradiva.eager.support.shared_state import LiveObjects
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.value import Symbolic

from .defer import CONSTANT, defer_call
from .pending import LazyBatch, LazyTensor, Pending, Ref
from .program_cache import ProgramCache, evaluate


class Deferred:
    """The interpreter of deferred mode."""

    def __init__(self, programs: ProgramCache | None = None, data: Iterable[Any] = ()) -> None:
        self.programs = ProgramCache() if programs is None else programs
        self._data = {id(value): value for value in data}
        self._waiting: LiveObjects[Pending] = LiveObjects()
        self._lock = threading.RLock()

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if operator.has_side_effects(keywords) or _is_symbolic(inputs, keywords):
            with interpreter(eager_interpreter()):
                return eager_interpreter().bind(operator, inputs, keywords)
        _agree((*inputs, *keywords.values()))
        pending = defer_call(self, operator, inputs, keywords)
        pending.dropping_calls = _dropping_calls(pending)
        pending.context = EvalContext.current()
        with self._lock:
            self._waiting.add(pending)
        made = pending.make_outputs()
        return made[0] if len(made) == 1 else made

    def find(self, value: Any) -> Ref | None:
        """The call that a lazy value came from, if it was deferred and no other library has had
        access to its memory since."""
        if not isinstance(value, LazyBatch | LazyTensor) or value.output in value.pending.exposed:
            return None
        ours = isinstance(value.pending.evaluator, Deferred)
        if value.pending.evaluator is self or (ours and isinstance(value, LazyBatch)):
            return Ref(value.pending, value.output)
        return None

    def is_constant(self, value: Any, count: int) -> bool:
        return count <= CONSTANT and id(value) not in self._data

    def may_write(self, pending: Pending, output: int, exported: bool) -> bool:
        """After the mode has ended, every value is an output."""
        return exported or current_interpreter() is not self

    @frameless
    def force(self, pending: Pending) -> None:
        """Run a call, together with the unread calls that are related to it."""
        with self._lock:
            if pending.values is not None:
                return
            others = [
                other
                for other in self._waiting.members()
                if other is not pending
                and other.values is None
                and other.size == pending.size
                and not other.readers
                and other.wanted
                and _related(other, pending)
                and other.dropping_calls == pending.dropping_calls
            ]
            together = sorted([pending, *others], key=_serial_of)
            try:
                evaluate(together, self.programs)
            except GradivaError:
                if not others:
                    raise
                evaluate([pending], self.programs)  # another result has failed, not this one
            for call in together:
                self._waiting.discard(call)

    @frameless
    def force_together(self, pending: list[Pending]) -> None:
        """Run several calls. All calls of one batch size run in one program, and single samples run
        with the first of them."""
        with self._lock:
            calls = sorted({call for call in pending if call.values is None}, key=_serial_of)
            sizes = list(dict.fromkeys(call.size for call in calls if not call.single)) or [1]
            for size in sizes:
                chosen = [
                    call for call in calls if (sizes[0] if call.single else call.size) == size
                ]
                evaluate(chosen, self.programs)

    @frameless
    def evaluate_all(self, context: object) -> None:
        """Run every call made in `context` whose result is still referenced. A call that fails does
        not keep others from running; the first error is raised at the end, once."""
        with self._lock:
            waiting = sorted(self._waiting.members(), key=_serial_of)
        failure: GradivaError | None = None
        for pending in waiting:
            if pending.context is context and pending.wanted and pending.values is None:
                try:
                    self.force(pending)
                except GradivaError as error:
                    failure = failure or without_frames(error)
                    with self._lock:
                        self._waiting.discard(pending)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # an error and a frame of its traceback must not refer to each other


def _agree(values: Iterable[Any]) -> None:
    """If the inputs of a call seem to differ in size, compute those that may drop samples: then
    their sizes are known."""
    batches = [value for value in values if isinstance(value, Batch)]
    waiting = [value for value in batches if isinstance(value, LazyBatch)]
    if any(value.pending.dropping_calls for value in waiting):
        sizes = {
            value.expected if isinstance(value, LazyBatch) else len(value) for value in batches
        }
        if len(sizes) > 1:
            for value in waiting:
                len(value)


def _dropping_calls(pending: Pending) -> frozenset[int]:
    found = {pending.serial} if skips(pending.attributes) else set()
    for ref in pending.inputs:
        if isinstance(ref.source, Pending) and ref.source.values is None:
            found |= ref.source.dropping_calls
    return frozenset(found)


def _serial_of(call: Pending) -> int:
    return call.serial


def _is_symbolic(inputs: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether the call has symbols of a graph as inputs. The eager interpreter refuses such
    calls."""
    return any(isinstance(value, Symbolic) for value in (*inputs, *keywords.values()))


def _related(one: Pending, other: Pending) -> bool:
    """Whether two calls depend on a common call, which would otherwise run twice."""
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


lazy_interpreter.fill(Deferred())
