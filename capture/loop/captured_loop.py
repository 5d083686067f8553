"""Captured loops: `reader.next_epoch(capture=True)`.

Each call of the loop's body is recorded with a *signature*: its operator, the signatures of its
inputs, its arguments by value, its random key. Calls of different steps with equal signatures are
the same computation on different data. What the first step did is compiled and run ahead, on the
data of later steps; a call whose signature was computed is served from there, whatever stands
around it. A call that was not runs at once. So the body may be any Python code.

A loop is a state machine (`LoopState`). `CapturedLoop` is the part that the user's thread sees, a
`LoopProgram` is what it has learned, a `Prefetcher` reads and computes ahead of it:

    TRACING -----> PREFETCHING <----> PAUSED
       |                |                |
       +----------------+-------> ENDED <+

TRACING: there is no program. Each step is read in the user's thread, its calls run one by one. At
its end the program is compiled, and the loop is PAUSED. A loop whose source has been looped over
before takes over the program of the loop before it, and begins as PAUSED.
PREFETCHING: the threads of the prefetcher read steps and run the program on them.
PAUSED: there is a program, and nothing is read ahead: the next step starts a prefetcher. It was
stopped because another loop or call has read the source, or the first step did something else.
ENDED: by the end of the data, an error, `close` or the finalizer. What was learned stays with the
source, and what was read ahead goes back to it.

Between two batches one `LoopStep` is under way, which `_finish_step` ends. It evaluates the calls
of its values; later `FinishedSteps` does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gradiva.capture.caches.options import CacheOptions
from gradiva.capture.graph.graph import Graph
from gradiva.capture.runtime.fusion_report import FusionExplanation, notes_of
from gradiva.eager.execution.quarantine import record
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.step import RandomStep as Running
from gradiva.eager.random.step import close_step, current_step, enter_step, leave_step
from gradiva.eager.runtime.finalizer_thread import FinalizerThread, finalizer_thread
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    annotate_error,
    user_location,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.readers.core.loop_data import known_length
from gradiva.ops.readers.core.reader import make_loop
from gradiva.ops.readers.core.source import arranged

from .concrete_inputs import ConcreteInput
from .defer import defer_call, run_now
from .interpreter import LoopInterpreter
from .pending import LazyValue, Pending
from .prefetcher import LoopSource, Prefetcher, StepItem, read_item
from .program import LoopProgram
from .program_cache import ProgramCache
from .repeated_calls import RepeatedCalls
from .report import Explanation
from .signatures import Signatures
from .step import FinishedSteps, LoopStep

# For few programs.
loop_receipts = lazy_module("gradiva.capture.loop.loop_receipts")
receipt_options = lazy_module("gradiva.capture.receipts.options")


class LoopState(Enum):
    """See this module's docstring."""

    TRACING = "tracing"
    PREFETCHING = "prefetching"
    PAUSED = "paused"
    ENDED = "ended"


class _Learned(NamedTuple):
    """What a loop knows about its body when the loop ends."""

    program: LoopProgram
    signatures: Signatures
    repeated: RepeatedCalls


class CapturedLoop(Iterator[Any]):
    """The batches of a reader or external source; the calls on them are captured.

    source: what is read; operator: for the graph; strict: raise an error if a call, after the first
    step, does not get a result that was computed ahead; cache: where results are kept, if they
    are. Calls that are never computed ahead are no
    errors: those with effects (`python_function`, unless its function is `prefetchable`,
    `dump_image`), and those that read no batch of this step and no result of a captured call in it.
    They run where they stand, and `explain` lists them, too.

    Values are delivered as lazy batches with the bits of the eager call. `explain` says which calls
    were not computed ahead, and why. A loop begins with what the previous loop over this source has
    learned: only the first loop traces its first step.
    """

    _ended = True  # `__init__` may have failed before its end

    def __init__(
        self,
        source: LoopSource,
        operator: OperatorBase,
        single: bool,
        strict: bool,
        cache: CacheOptions | None = None,
    ) -> None:
        self.operator = operator
        self._keeping = cache
        self.programs = ProgramCache()
        self._finished = FinishedSteps(self.programs)
        self._single = single
        self._source = source
        self._strict = strict
        self._interpreter = LoopInterpreter(self)
        self._prefetcher: Prefetcher | None = None
        self._step: LoopStep | None = None
        self._program: LoopProgram | None = None
        self._token = object()
        self._running: Running | None = None
        self._owner: dict[str, threading.Thread] = {}
        self._signatures = Signatures(self._token)
        self._repeated = RepeatedCalls()
        learned: _Learned | None = source.memory.pop(self._learned_as, None)
        if learned is not None:
            self._program, self._signatures, self._repeated = learned
            self._signatures.token = self._token
        self._missed: dict[int, int] = {}
        self._concrete_inputs: set[ConcreteInput] = set()
        self._explanation = Explanation(source.name)
        self._number = 0
        self._epoch: int | None = None
        self._receipts: Any = None
        self._ended = False

    @property
    def state(self) -> LoopState:
        """The state of the loop."""
        if self._ended:
            return LoopState.ENDED
        if self._program is None:
            return LoopState.TRACING
        reading = self._prefetcher is not None
        mine = self._source.ahead.prefetcher is self._prefetcher
        return LoopState.PREFETCHING if reading and mine else LoopState.PAUSED

    def __iter__(self) -> CapturedLoop:
        return self

    def __len__(self) -> int:
        """How many batches it delivers. Raises OperatorTypeError where that is not known."""
        return known_length(self._source.count(), self._source.name)

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        here = threading.current_thread()
        # A dictionary keeps one of two threads that arrive at the same time.
        if self._owner.setdefault("thread", here) is not here:
            raise OperatorRuntimeError(
                "a captured loop belongs to the thread that took its first batch: let each thread "
                "have a reader and a loop of its own, or share a loop without capture",
                operator=self._source.name,
                location=user_location(),
            )
        self._finish_step()
        item = self._next_item()
        for noted in item.noted:
            record(noted)
        if item.error is not None:
            self._raise(item)
        self._step = LoopStep(item, self._number, self.operator, self._single, self._finished)
        self._number += 1
        self._explanation.steps = self._number
        where = item.batches[0].provenance
        self._running = enter_step(
            self._source.ahead,
            np.empty(0, np.int64) if where is None else where.positions,
            self._token,
            None if where is None else where.progress,
        )
        self._interpreter.enter()
        return arranged(self._step.source.make_outputs(), self._source.names)

    def _raise(self, item: StepItem) -> NoReturn:
        """Raise the error that reading has raised. Nothing except the error may refer to the error:
        it refers to this frame and to the user's frame, which would stay until the garbage
        collector runs."""
        error, item.error = item.error, None
        assert error is not None
        try:
            if isinstance(error, GradivaError):
                with annotate_error(self._source.name):
                    raise error
            if isinstance(error, StopIteration):
                leave_step(self._source.ahead)
            self.close()
            if isinstance(error, StopIteration):
                raise StopIteration(*error.args)
            raise error
        finally:
            del error, item

    def _next_item(self) -> StepItem:
        source = self._source
        # Loops of other threads over this source wait here, and continue after this batch.
        with source.ahead.turn:
            source.claim()
            if self._epoch is None:
                self._epoch = source.ahead.ended
            if self._epoch != source.ahead.ended:
                # Another loop over this source has reached the end of the epoch.
                item = StepItem(None)
                item.error = StopIteration()
                return item
            if self._prefetcher is None or source.ahead.prefetcher is not self._prefetcher:
                source.ahead.pause()
                self._prefetcher = None
            if self._program is None:
                item = StepItem(None)
                read_item(source, item)
                self._count(item)
                return item
            if self._prefetcher is None:
                # Its thread does not keep the loop alive: a loop that is no longer referenced ends.
                threads = (source.pool or default_pool()).num_threads
                self._prefetcher = Prefetcher(
                    source, self._program.compute, self._program.release_streams, threads
                )
                source.ahead.prefetcher = self._prefetcher
            item = self._prefetcher.take()
            self._count(item)
            return item

    def _count(self, item: StepItem) -> None:
        """The end of the epoch ends all loops over the source."""
        if isinstance(item.error, StopIteration):
            self._source.ahead.ended += 1

    def close(self) -> None:
        """End the loop and its step here. The source keeps its position."""
        self._detach()
        self._pause()
        self._interpreter.leave()
        close_step(self._token)

    def _detach(self) -> None:
        """Stop capturing. The next loop gets what was learned, and the values of the step, which
        the user may hold, no longer refer to it. Takes no lock."""
        if not self._ended and self._program is not None and not self._concrete_inputs:
            learned = _Learned(self._program, self._signatures, self._repeated)
            self._source.memory[self._learned_as] = learned
        self._ended = True
        step, self._step = self._step, None
        if step is not None:
            step.detach()

    def __del__(self, finalizer_thread: FinalizerThread = finalizer_thread) -> None:
        # This may run in any thread, at any moment, also while the process exits. So nothing is
        # waited for, and the context of this thread may not be that of the loop.
        if not self._ended:
            self._detach()
            if self._prefetcher is not None:
                finalizer_thread.post(self._source.ahead.pause, self._prefetcher)

    def _pause(self) -> None:
        """Stop reading ahead, and move the source to the position of the loop."""
        ahead, self._prefetcher = self._prefetcher, None
        if ahead is not None:
            self._source.ahead.pause(ahead)

    def __repr__(self) -> str:
        return f"<{str(self._explanation).partition(chr(10))[0]}>"

    def explain(self) -> Explanation:
        """How many calls of the body got results that were computed ahead, why others did not, and
        which groups ran fused."""
        program = self._program or LoopProgram(self.operator, self._keeping)
        self._explanation.groups = FusionExplanation(
            "what is computed ahead",
            program.fusion_groups(),
            program.calls_outside_of_groups(),
            [*program.caches(), *notes_of(program.graph)],
        )
        return self._explanation

    def receipt(self, *values: Any, data: str = "contents", hash: str = "sha256") -> Any:
        """The receipt of values that the body has computed in this step, such as what the training
        gets: see `Pipeline.receipt` and docs/receipts.md. A pipeline whose function makes the same
        calls makes them again. data, hash: as of `with_receipt`.

        Raises OperatorTypeError for values that do not depend on what the reader has delivered in
        this step alone, and for loops over external sources.
        """
        with annotate_error(f"{self._source.name}: receipt"):
            options = receipt_options.ReceiptOptions.checked({"data": data, "hash": hash})
            if self._receipts is None:
                self._receipts = loop_receipts.LoopReceipts(self._source, self.operator)
            return self._receipts.receipt(self._step, self._program, values, options)

    @property
    def graph(self) -> Graph | None:
        """The program that runs ahead, or None before the end of the first step."""
        return None if self._program is None else self._program.graph

    @property
    def _learned_as(self) -> str:
        """The name under which the source remembers what loops like this one have learned."""
        return f"single={self._single} cache={self._keeping}"

    def owns(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> bool:
        """Whether a call belongs to this loop: it reads a value of this step; or this loop's step
        is the current one, and it draws random values or has a schedule."""
        step = self._step
        if step is None or (operator.effects and operator.has_side_effects(keywords)):
            return False
        for value in (*inputs, *keywords.values()):
            if isinstance(value, LazyValue) and value.pending.evaluator is step:
                return True
        here = self._running is not None and current_step() is self._running
        return here and (operator.random or has_schedules(keywords))

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        step = self._step
        assert step is not None
        repeated = self._repeated.made_by(step, operator, inputs, keywords)
        if repeated is not None:
            step.calls.append(repeated)
            step.serve(repeated)
            self._explanation.served += 1
            return _outputs(repeated)
        pending = defer_call(step, operator, inputs, keywords)
        pending.valid = step.mask_of(pending)
        size = step.size if pending.valid is None else pending.size
        pending.signature = self._signatures.of(pending, size)
        item = step.item
        written = any(
            ref.output in ref.source.exposed
            for ref in pending.inputs
            if isinstance(ref.source, Pending)
        )
        if written and (step.number or item.known):
            # Signatures do not cover what the user has written into an array: this call is unique.
            pending.signature = self._signatures.fresh()
        step.calls.append(pending)
        if pending.signature in item.known and step.serve(pending):
            self._explanation.served += 1
            self._repeated.note(step, operator, inputs, keywords, pending)
        else:
            self._miss(step, pending, written)
        return _outputs(pending)

    def mark_in_use(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Called before a call that no loop owns. Returns whether it reads values of this step, or
        values that were computed at once from them. As for captured calls, what it reads is
        read-only from then on, so that calls that come later can be served."""
        step = self._step
        if step is None:
            return False
        given = (*inputs, *keywords.values())
        for ref in map(step.find, given):
            if ref is not None and isinstance(ref.source, Pending):
                readers = ref.source.readers
                readers[ref.output] = readers.get(ref.output, 0) + 1
        return step.is_read_by(given)

    def ran_at_once(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any], made: Any
    ) -> None:
        """Note a call of the body that this loop does not own. The calls of another loop inside of
        the body, which read nothing of this one, are not part of it."""
        step = self._step
        outputs = made if isinstance(made, tuple) else () if made is None else (made,)
        if step is None or not all(isinstance(value, Batch | Tensor) for value in outputs):
            return  # a source makes a free node
        given = (*inputs, *keywords.values())
        if not step.is_read_by(given) and current_step() is not self._running:
            return
        if step.number or step.item.known:
            why = step.why_at_once(operator, inputs, keywords)
            self._explanation.add(operator.name, user_location(), step.number, why)
        else:
            self._explanation.traced += 1
        step.note_results(operator, outputs)

    def _miss(self, step: LoopStep, pending: Pending, written: bool) -> None:
        reason = step.why_missed(pending, written, self._concrete_inputs, self._token)
        step.missed.add(pending.signature)
        if step.number:
            self._explanation.add(pending.operator.name, pending.location, step.number, reason)
        else:
            self._explanation.traced += 1
        run_now(pending)
        step.note_losses(pending)
        # If computing ahead has failed, the failing call raises its own error.
        whole = step.item.failure is None and step.item.valid is None
        if step.number and self._strict and whole:
            raise OperatorRuntimeError(
                f"this call was not computed ahead: {reason}", location=pending.location
            )

    def _finish_step(self) -> None:
        """Called at the end of a step: decide what to compute ahead from now on."""
        step, self._step = self._step, None
        if step is None:
            return
        concrete_inputs = step.concrete_inputs()
        known_inputs = self._concrete_inputs & concrete_inputs
        self._concrete_inputs = concrete_inputs
        fresh, calls = [], step.calls
        if self._program is not None and step.item.valid is not None:
            # Unknown calls of such a step may be about fewer samples.
            calls = [call for call in calls if self._program.knows(call.signature)]
        for call in calls:
            if call.signature in step.missed:
                count = self._missed[call.signature] = self._missed.get(call.signature, 0) + 1
                if count > 1 or not step.number:
                    fresh.append(call)
        if self._program is None:
            self._program = LoopProgram(self.operator, self._keeping)
        before = self._program.compilations
        self._program.learn(calls, fresh, known_inputs, step.source, not step.number)
        if not step.number and self._program.compilations > before:
            # What was computed ahead is based on an earlier loop, and this loop does something
            # else.
            self._pause()
        step.finish()
        if self._signatures.forget(self._program.knows):
            self._missed.clear()


def _outputs(call: Pending) -> Any:
    """What the user gets: the value, or several."""
    made = call.make_outputs()
    return made[0] if len(made) == 1 else made


def _make(
    source: LoopSource,
    operator: OperatorBase,
    single: bool,
    strict: bool,
    cache: Any = None,
    cache_bytes: Any = None,
) -> CapturedLoop:
    with annotate_error(source.name):
        options = CacheOptions.checked(cache, cache_bytes)
        return CapturedLoop(source, operator, single, strict, options)


make_loop.fill(_make)
