"""`Executor`: runs a compiled graph again and again, and prefetches.

Two runners make batches, in turns: each reads the sources for a batch, one runner at a time, and
runs the graph on what it has read. While one prepares a batch, or waits for its last samples, the
worker pool goes on with that of the other. Nothing is handed from thread to thread, which would
cost more than what small samples do. Sources that want one thread for all they do, such as the
user's functions, are read by a scheduler thread, and runners do the rest. The work inside a batch
is split by sample.
A batch is an object with its own buffers and its own error: a bad sample fails that batch, and the
next one is made as if nothing had happened.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from gradiva.capture.runtime.dropped_samples import BatchOutputs, SampleIndices, deliver
from gradiva.capture.runtime.prefetch import Item, Prefetch
from gradiva.capture.runtime.program import Outputs
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import OperatorRuntimeError, fresh

from .source_plan import Read, SourcePlan
from .source_states import States

_ITSELF = "a source of the pipeline asks for its batches, and would wait for itself for ever"

_THREADS_OF_A_RUNNER = 4
"""With this many worker threads for each, there may be more than two runners: otherwise the serial
parts of the runners would leave the workers without work."""


def _names(count: int) -> list[str]:
    return [f"gradiva-runner-{index}" for index in range(count)]


class _BatchItem(Item):
    """A batch: the data that were read, then its outputs."""

    read: Read
    outputs: Outputs = ()
    place = 0
    """The number of batches that were returned before, errors included."""


class Executor(Prefetch[_BatchItem]):
    """Keeps up to `depth` batches ready. `get` returns them in order, or raises their errors."""

    title = "pipeline"
    forked = (
        "this pipeline belongs to the parent process of this fork, and so do its threads: "
        "make it in the process that uses it, such as the worker of a data loader"
    )

    def __init__(self, plan: SourcePlan, depth: int, threaded: bool) -> None:
        self.plan = plan
        self.threaded = threaded
        self.count = 0
        """The number of batches that were returned, errors included."""
        self.rows: SampleIndices | None = None
        """The samples of the last returned batch; None if none was dropped."""
        self.record: Any = None
        """What the receipt of the last returned batch is made of, if there are receipts."""
        threads = plan.pool.num_threads
        overlaps = threaded and depth > 1 and threads > 1 and not plan.program.has_side_effects
        count = max(2, min(depth, threads // _THREADS_OF_A_RUNNER))
        reading = count + (threads > _THREADS_OF_A_RUNNER)  # one of them reads
        if not plan.program.computes:
            reading = 1  # two would only wait for each other
        readers, runners = ["gradiva-scheduler"] if threaded else [], list[str]()
        if overlaps and plan.any_thread:
            readers = _names(reading)
        elif overlaps:
            runners = _names(count)
        # While the queue is full, some batches may be in progress, so that no runner is without
        # work.
        room = depth + max(len(readers) - 1, int(overlaps))
        super().__init__(plan.pool, overlaps, readers, runners, depth, room)
        finalizer_thread.catch_up()

    def new_item(self, number: int) -> _BatchItem:
        return _BatchItem(number)

    def read(self, item: _BatchItem) -> None:
        item.read = self.plan.read(self.reading)

    def compute(self, item: _BatchItem) -> None:
        read = item.read
        del item.read
        item.outputs = self.plan.compute(read)

    def taken(self, item: _BatchItem, error: BaseException | None) -> None:
        self.plan.states.deliver()
        item.place = self.count
        self.count += not isinstance(error, StopIteration)

    def demand(self, number: int) -> None:
        self.plan.demand(number)

    def interrupt(self) -> None:
        self.plan.close()

    def finish(self) -> None:
        self.items.clear()
        self.plan.close_stage()

    def get(self) -> Outputs:
        """The next batch. Raises what making it raised; StopIteration at the end of the data, again
        at each call until `reset`."""
        item = self.take()
        error, item.error = item.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # an error and a frame of its traceback must not refer to each other
        if isinstance(item.outputs, BatchOutputs):
            self.rows, self.record = item.outputs.rows, item.outputs.record
        else:
            self.rows = self.record = None
        return deliver(item.outputs, self.plan.quarantine, item.place)

    def check(self) -> None:
        super().check()
        caller = threading.current_thread()
        if caller in self.threads or self.pool.has(caller):
            raise OperatorRuntimeError(_ITSELF)

    def wait(self) -> None:
        """Wait until the next batch is ready, without taking it. Raises what taking it would raise.
        Has no effect if batches are made when they are taken."""
        self.check()
        if self.threaded:
            with self.lock:
                error = self._wait().error
            if error is not None:
                raise fresh(error)  # the error in the queue gets no frames

    @contextmanager
    def recorded(self) -> Iterator[tracing.Recording]:
        """Record events in the block, with batches counted from now on."""
        with ExitStack() as stack:
            with self.lock:
                recording = stack.enter_context(tracing.record(self.plan.pool, self.next_number))
            yield recording

    def waiting(self) -> int:
        """The number of batches that are ready and not yet returned."""
        ready = self.ready()
        return sum(not isinstance(item.error, StopIteration) for item in ready)

    def source_states(self) -> tuple[States | None, bool]:
        """The states after the last returned batch, None if they are not recorded; and whether the
        end was reached."""
        with self.lock:
            return self.plan.states.delivered, self.exhausted

    def begin_at(self, end_was_met: bool) -> None:
        """Called after the sources were restored from a checkpoint: the next `get` continues from
        there."""
        self.ended = end_was_met

    def reset(self) -> bool:
        """Start again if the user has reached the end of the data; otherwise without effect.
        Returns whether the end had been reached."""
        with self.lock:
            if not self.exhausted:
                return False
            self.plan.reset()
            self.restart()
            return True
