"""One step of a captured loop, and the evaluation of its calls after the step has ended."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.execution.error_policy import narrowed, skips
from gradiva.eager.execution.quarantine import collecting
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.step import current_step
from gradiva.eager.types.arrays import BoolVector

from .concrete_inputs import ConcreteInput
from .defer import run_now
from .pending import LazyBatch, LazyTensor, Pending, Ref
from .prefetcher import StepItem
from .program_cache import ProgramCache, evaluate

_DRAWN = "random."
"""The prefix of the names of operators that draw a value for each sample independently."""
_CONSTANT = 1 << 20
"""Arrays from outside of the loop with at most this many elements are compared by value."""
_EFFECTS = "it has effects, so it runs when it is called"
_DECLARE = (
    f"{_EFFECTS}; if its function has none, declare the function with `gradiva.prefetchable`: "
    "write `@gradiva.prefetchable` above its `def` (see `gradiva ops python_function`)"
)

_NEW = (
    "no step before has made this call with these arguments: a number that changes from step to "
    "step must be data (draw it with `gradiva.random`, or let the source deliver it); in a branch "
    "that is rarely taken, the call is computed ahead after a few times"
)
_NEW_OR_RENUMBERED = (
    f"{_NEW}; or a random call before it was skipped or added in this step, which renumbers it: "
    "make both calls before the `if`, or give each a `seed=`"
)


class LoopStep:
    """One step of a loop, with the values that it has returned. It evaluates their calls."""

    def __init__(
        self,
        item: StepItem,
        number: int,
        operator: OperatorBase,
        single: bool,
        finished: FinishedSteps,
    ) -> None:
        self.item = item
        self.number = number
        self.finished = finished
        self.size = len(item.batches[0])
        self.source = Pending(operator, (), {}, (), self.size, single, self, None)
        self.source.values = item.batches
        self.source.types = tuple(batch.type for batch in item.batches)
        self.source.signature = 0
        self.source.device = item.batches[0].device
        self.calls: list[Pending] = []
        self.missed: set[int] = set()
        self._valid: BoolVector | None = None
        self._served: dict[int, Pending] = {}
        self._made_at_once: dict[int, tuple[weakref.ref[Any], str]] = {}

    @property
    def lost(self) -> bool:
        """Whether samples were left out."""
        return self._valid is not None or self.item.valid is not None

    def find(self, value: Any) -> Ref | None:
        """The call of this step that a value came from."""
        if isinstance(value, LazyBatch | LazyTensor) and value.pending.evaluator is self:
            return Ref(value.pending, value.output)
        return None

    def note_results(self, operator: OperatorBase, values: Sequence[Any]) -> None:
        """Note the results of a call of the body that is none of the captured ones."""
        made = self._made_at_once
        for value in values:
            key = id(value)
            gone = weakref.ref(value, lambda _, key=key: made.pop(key, None))  # type: ignore[misc]
            made[key] = (gone, operator.name)

    def _maker(self, value: Any) -> str | None:
        """The operator of the call of the body that has made a value at once."""
        found = self._made_at_once.get(id(value))
        return found[1] if found is not None and found[0]() is value else None

    def is_read_by(self, values: Sequence[Any]) -> bool:
        """Whether one of these comes from this step, or from a call that its body made at once."""
        return any(self.find(it) is not None or self._maker(it) is not None for it in values)

    def mask_of(self, call: Pending) -> BoolVector | None:
        """The samples of the step that a call is about, where others have left its inputs: it reads
        them, or draws a value for each of them; None for all."""
        if call.single:
            return None
        sources = (ref.source for ref in call.inputs if isinstance(ref.source, Pending))
        valid = next((source.valid for source in sources if source.valid is not None), None)
        if valid is None and self._draws(call) and self._valid is not None:
            valid = self._valid
            running, whole = current_step(), self.item.batches[0].positions
            left = None if running is None else running.narrowed.get(call.size)
            if whole is None or left is None or not np.array_equal(left, whole[valid]):
                return None
        return valid if valid is not None and np.count_nonzero(valid) == call.size else None

    def _draws(self, call: Pending) -> bool:
        """Whether a call draws a value for each sample, and reads none."""
        return call.operator.name.startswith(_DRAWN) and not call.inputs

    def note_losses(self, call: Pending) -> None:
        """Called when a call has lost samples: further calls may be about the rest."""
        if call.valid is not None and skips(call.attributes):
            self._valid = call.valid

    def serve(self, call: Pending) -> bool:
        """Give a call the values that were computed ahead for it, if they were kept. Returns False
        if those are about other samples."""
        item, values = self.item, self.item.results.get(call.signature)
        if item.valid is not None and call.signature == item.dropper and call.size == self.size:
            call.valid, call.size = item.valid, int(np.count_nonzero(item.valid))
            self.note_losses(call)
            running, positions = current_step(), item.batches[0].positions
            if running is not None and positions is not None:
                running.narrow(positions[item.valid])
        if values is None:
            return True
        held = values[0].valid
        if held is None and call.valid is not None and self._draws(call):
            values = tuple(narrowed(value, call.valid) for value in values)
        elif (held is None) != (call.valid is None):
            return False
        first = self._served.setdefault(call.signature, call)
        if first is not call:
            if first.exposed:
                return True  # the user may have written into them, so they are computed again
            first.shared = call.shared = True
        elif call.signature in item.shared:
            call.shared = True
        call.hold(values)
        return True

    def why_missed(
        self, call: Pending, written: bool, concrete_inputs: set[ConcreteInput], owner: object
    ) -> str:
        """Why a call was not computed ahead. written: whether an input may have been modified;
        concrete_inputs: batches from outside that the loop knows; owner: of the loop's steps."""
        if self.item.failure is not None:
            return self.item.failure
        if self.item.valid is not None:
            return "a sample of this step was left out"
        if not self.number:
            return "it is the first step, which is traced"
        if written:
            return (
                "its input was read as an array before this call; your code may have changed it, "
                "so the call ran at once"
            )
        if not call.single and call.size != self.size:
            return "its batch size is not that of the loop's source"
        for ref in call.inputs:
            source = ref.source
            if isinstance(source, ConcreteInput):
                if source.array is None and source not in concrete_inputs:
                    return self._why_outside(ref, source)
            elif source.signature in self.missed:
                return _reads_result_of(source.operator.name)
        if call.operator.random and call.key is not None:
            running = current_step()
            if running is None or running.owner is not owner:
                return "its random values belong to another source, which was read in the body"
            return _NEW_OR_RENUMBERED
        return _NEW

    def _why_outside(self, ref: Ref, source: ConcreteInput) -> str:
        """Why a call with this input or argument, which is no value of this step, was missed."""
        given = source.batch if source.origin is None else source.origin()
        maker = self._maker(given)
        if maker is not None:
            return _reads_result_of(maker)
        if ref.argument is not None:
            return f"its argument `{ref.argument}` has values made in the body"
        return "it reads a batch that does not come from the loop's source"

    def why_at_once(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> str:
        """Why a call of the body is none of the captured ones."""
        given = (*inputs, *keywords.values())
        if operator.has_side_effects(keywords):
            takes_function = any(callable(value) for value in keywords.values())
            return _DECLARE if takes_function else _EFFECTS
        for value in given:
            maker = self._maker(value)
            if maker is not None:
                return _reads_result_of(maker)
        return "it reads nothing that the loop's source delivered in this step"

    def concrete_inputs(self) -> set[ConcreteInput]:
        """The batches from outside of the loop that the calls of this step have read, after the
        step has ended."""
        found = set()
        for call in self.calls:
            for ref in call.inputs:
                if isinstance(ref.source, ConcreteInput) and ref.source.array is None:
                    found.add(ref.source)
        return found

    def detach(self) -> None:
        """Make the values independent of the step: a holder of one value must not keep all. Takes
        no lock."""
        for call in (*self.calls, self.source):
            call.evaluator = self.finished

    def finish(self) -> None:
        """Called at the end of the step. Calls that have run keep nothing but their values."""
        with self.finished.lock:
            self.detach()
            for call in (*self.calls, self.source):
                if call.values is not None:
                    call.drop_inputs()

    def force(self, pending: Pending) -> None:
        """Compute a value inside of a fused group that the user reads, from the batch that was
        read."""
        self.finished.force(pending)

    def is_constant(self, value: Any, count: int) -> bool:
        return count <= _CONSTANT

    def may_write(self, pending: Pending, output: int, exported: bool) -> bool:
        """Results that were computed from a value are valid only if the user does not write into
        it."""
        return (pending.signature, output) not in self.item.read


def _reads_result_of(name: str) -> str:
    return f"it reads the result of `{name}`, which was not computed ahead"


class FinishedSteps:
    """Evaluates calls whose step has ended."""

    def __init__(self, programs: ProgramCache) -> None:
        self.lock = threading.RLock()
        self._programs = programs

    def find(self, value: Any) -> Ref | None:
        return None

    def force(self, pending: Pending) -> None:
        with self.lock:
            if pending.values is None:
                with collecting():  # unreadable samples were reported before
                    if pending.valid is None:
                        evaluate([pending], self._programs)
                    else:
                        _run_short(pending)

    def is_constant(self, value: Any, count: int) -> bool:
        return False

    def may_write(self, pending: Pending, output: int, exported: bool) -> bool:
        return True


def _run_short(call: Pending) -> None:
    """Run a call of a step that has dropped samples, and the calls that it depends on, one by
    one."""
    if skips(call.attributes):  # it reads all samples
        source = call.inputs[0].source
        call.size = source.size if isinstance(source, Pending) else len(source.plain)
    run_now(call)
    call.drop_inputs()
