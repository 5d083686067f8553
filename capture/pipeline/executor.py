"""`Executor`: runs a compiled graph again and again, and prefetches.

Two runners make batches, in turns: each reads the sources for a batch, one runner at a time, and
runs the graph on what it has read. While one prepares a batch, or waits for its last samples, the
worker pool goes on with that of the other. Nothing is handed from thread to thread, which would
cost more than what small samples do. Sources that want one thread for all they do, such as the
user's functions, are read by a scheduler thread, and runners do the rest. The work inside a batch
is split by sample.
Batches enter a bounded queue in their order. A batch is an object with its own buffers and its own
error: a bad sample fails that batch, and the next one is made as if nothing had happened.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gradiva.capture.runtime.dropped_samples import BatchOutputs, SampleIndices, deliver
from gradiva.capture.runtime.program import Outputs
from gradiva.eager.jit.background_kernel import expect_many
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.runtime.runners import Runners
from gradiva.eager.runtime.threads import started
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import OperatorRuntimeError, fresh, without_frames

from .source_plan import Read, SourcePlan
from .source_states import States

__all__ = ["Executor"]

_CLOSED = "the pipeline was closed while a batch was awaited"
_ITSELF = "a source of the pipeline asks for its batches, and would wait for itself for ever"

_THREADS_OF_A_RUNNER = 4
"""With this many worker threads for each, there may be more than two runners: otherwise the serial
parts of the runners would leave the workers without work."""


class Executor:
    """Keeps up to `depth` batches ready. `get` returns them in order, or raises their errors."""

    def __init__(self, plan: SourcePlan, depth: int, threaded: bool) -> None:
        self.plan = plan
        self.depth = depth
        self.threaded = threaded
        self.taken = 0
        """The number of batches that were returned, errors included."""
        self.rows: SampleIndices | None = None
        """The samples of the last returned batch; None if none was dropped."""
        self._ready: deque[Outputs | BaseException] = deque()
        self._early: dict[int, Outputs | BaseException] = {}
        self._begun = self._finished = 0
        self._maker: threading.Thread | None = None
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        """The scheduler waits on this until there is room: a batch was taken, or there will be
        none."""
        self._filled = threading.Condition(lock)
        """The consumer waits on this for a batch. There are two conditions so that no thread is
        woken without need."""
        self._ended = False
        self._end_was_met = False
        self.closed = False
        self._makers: list[threading.Thread] = []
        """The threads that read: the scheduler, or the runners."""
        self._process = os.getpid()
        threads = plan.pool.num_threads
        self._overlaps = (
            threaded and depth > 1 and threads > 1 and not plan.program.has_side_effects
        )
        self._reading = plan.pool
        count = max(2, min(depth, threads // _THREADS_OF_A_RUNNER))
        reading = count + (threads > _THREADS_OF_A_RUNNER)  # one of them reads
        if not plan.program.computes:
            reading = 1  # two would only wait for each other
        self._reading_runners = reading if self._overlaps and plan.any_thread else 0
        self._under_way = max(self._reading_runners - 1, int(self._overlaps))
        """The number of batches that may be in progress while the queue is full."""
        self._runners = Runners("runner", count)
        """The runners of a pipeline with a scheduler, which reads for them."""
        if self._overlaps:
            plan.pool.dedicated = True
            # Reading must not wait behind computing.
            self._reading = WorkerPool(threads, cpus=plan.pool.cpus)
        finalizer_thread.ready()  # for the finalizer of the pipeline
        finalizer_thread.catch_up()
        _executors.add(self)

    @property
    def started(self) -> bool:
        """Whether a batch was requested."""
        return self._begun > 0 or bool(self._makers)

    def get(self) -> Outputs:
        """The next batch. Raises what making it raised; StopIteration at the end of the data."""
        self._check_open()
        if not self.threaded:
            return self._run_here()
        with self._changed:
            began = 0 if self._ready else time.perf_counter_ns()
            self._wait_until_ready()
            item = self._ready.popleft()
            if self.closed and isinstance(item, StopIteration):
                raise OperatorRuntimeError(_CLOSED)  # sources end with this exception
            if not self._end_was_met:
                self.plan.states.deliver()
            self._fill_queue()
            self._changed.notify_all()
            recording = tracing.active
            if recording is not None:
                recording.taken(self.plan.pool, began, len(self._ready))
            number = self.taken
            self.taken += not isinstance(item, StopIteration)
        if isinstance(item, BaseException):
            # Raised again at each call after the end, until `reset`. It is a new object, because an
            # exception grows each time it is raised.
            if isinstance(item, StopIteration):
                with self._changed:
                    self._ready.append(StopIteration(*item.args))
                    self._end_was_met = True
            try:
                raise item
            finally:
                del item  # an error and a frame of its traceback must not refer to each other
        return self._deliver(item, number)

    def _check_open(self) -> None:
        """Raise OperatorRuntimeError if no further batch can be made."""
        if self._process != os.getpid():
            raise OperatorRuntimeError(
                "this pipeline belongs to the parent process of this fork, and so do its threads: "
                "make it in the process that uses it, such as the worker of a data loader"
            )
        if self.closed:
            raise OperatorRuntimeError("this pipeline was closed")

    def wait(self) -> None:
        """Wait until the next batch is ready, without taking it. Raises what taking it would raise.
        Has no effect if batches are made when they are taken."""
        self._check_open()
        if self.threaded:
            with self._changed:
                self._wait_until_ready()
                item = self._ready[0]
            if isinstance(item, BaseException):
                raise fresh(item)  # the error in the queue gets no frames

    def begin(self) -> None:
        """Begin to prefetch batches, if there is a thread for that."""
        if self.threaded and not self.closed:
            with self._changed:
                self._start_makers()

    def _start_makers(self) -> None:
        """Start the threads that read. Called under the lock."""
        if self._makers:
            return
        expect_many()
        what = weakref.ref(self), self._changed, threading.Lock()
        if not self._reading_runners:
            self._makers.append(started(_make_batches, "gradiva-scheduler", *what))
        for index in range(self._reading_runners):
            try:
                self._makers.append(started(_make_batches, f"gradiva-runner-{index}", *what))
            except OperatorRuntimeError:
                if not self._makers:
                    raise
                return  # fewer are enough

    def _wait_until_ready(self) -> None:
        """Wait until a batch is ready. Called under the lock."""
        self._start_makers()
        caller = threading.current_thread()
        if caller in self._threads() or self.plan.pool.has(caller):
            raise OperatorRuntimeError(_ITSELF)
        while not self._ready:
            self.plan.demand(self._finished)
            told = self._filled.wait(1.0)
            alive = told or all(thread.is_alive() for thread in self._threads())
            if not self._ready and (self.closed or not alive):
                raise OperatorRuntimeError(_CLOSED)

    def _threads(self) -> list[threading.Thread]:
        """The threads that make batches, apart from the workers."""
        return self._makers + self._runners.threads

    def _run_here(self) -> Outputs:
        if self._end_was_met:
            raise StopIteration
        if self._maker is threading.current_thread():
            raise OperatorRuntimeError(_ITSELF)
        self._maker = threading.current_thread()
        tracing.place.batch = self.taken
        if tracing.active is not None:
            tracing.active.begun(self.plan.pool)
        self.plan.demand(self._begun)
        self._begun += 1
        try:
            outputs = self.plan.run()
        except StopIteration:
            if self.closed:
                raise OperatorRuntimeError(_CLOSED) from None
            self._end_was_met = True
            raise
        except BaseException:
            self.taken += 1
            raise
        finally:
            self._maker = None
            self.plan.states.deliver()
        self.taken += 1
        return self._deliver(outputs, self.taken - 1)

    def _deliver(self, item: Outputs, number: int) -> Outputs:
        self.rows = item.rows if isinstance(item, BatchOutputs) else None
        return deliver(item, self.plan.quarantine, number)

    def _may_begin(self) -> bool:
        """Whether there is room for one more batch, and data for it."""
        return not self._ended and not self._is_full()

    def _begin(self, waited: int, queued: bool) -> int:
        """The number of the next batch. Called under the lock; waited: since when, or 0."""
        recording = tracing.active
        if recording is not None and waited:
            why = "wait: the queue is full" if queued else "wait: runners are at work"
            recording.done(self.plan.pool, "wait", why, waited)
        number, self._begun = self._begun, self._begun + 1
        return number

    def _read(self, number: int) -> Read | None:
        """Read the data of a batch; None after an error, which becomes the error of the batch."""
        tracing.place.batch = number
        if tracing.active is not None:
            tracing.active.begun(self.plan.pool)
        try:
            return self.plan.read(self._reading)
        except BaseException as error:  # noqa: BLE001  it is raised where the batch is taken
            self._put(number, without_frames(error))
            return None

    def _go_on(self, number: int, read: Read) -> None:
        """Run the graph on the data, or let a runner do it."""
        if self._overlaps and not self._reading_runners:
            self._runners.put(self._compute, number, read)
        else:
            self._compute(number, read)

    def _is_full(self) -> bool:
        """Whether the largest allowed number of batches is ready or in progress.

        This is more than the size of the queue if batches overlap, so that no runner is without
        work.
        """
        return len(self._ready) + self._begun - self._finished >= self.depth + self._under_way

    def _compute(self, number: int, read: Read) -> None:
        tracing.place.batch = number
        item: Outputs | BaseException
        try:
            item = self.plan.compute(read)
        except BaseException as error:  # noqa: BLE001  it is raised where the batch is taken
            item = without_frames(error)
        self._put(number, item)

    def _put(self, number: int, item: Outputs | BaseException) -> None:
        """Put the batch into the queue, once all earlier batches are there."""
        with self._changed:
            self._ended = self._ended or isinstance(item, StopIteration)
            self._early[number] = item
            self._fill_queue()  # which makes no room: as much is in progress as before
            if self._ready:
                self._filled.notify_all()

    def _fill_queue(self) -> None:
        """Move finished batches into the queue, as far as there is room. Called under the lock."""
        while self._finished in self._early and len(self._ready) < self.depth:
            self._ready.append(self._early.pop(self._finished))
            self._finished += 1
            recording = tracing.active
            if recording is not None:
                recording.put(self.plan.pool, len(self._ready))

    @contextmanager
    def recorded(self) -> Iterator[tracing.Recording]:
        """Record events in the block, with batches counted from now on."""
        with ExitStack() as stack:
            with self._changed:
                recording = stack.enter_context(tracing.record(self.plan.pool, self.taken))
            yield recording

    def waiting(self) -> int:
        """The number of batches that are ready and not yet returned."""
        with self._changed:
            return sum(not isinstance(item, StopIteration) for item in self._ready)

    def source_states(self) -> tuple[States | None, bool]:
        """The states after the last returned batch, None if they are not recorded; and whether the
        end was reached."""
        with self._changed:
            return self.plan.states.delivered, self._end_was_met

    def begin_at(self, end_was_met: bool) -> None:
        """Called after the sources were restored from a checkpoint: the next `get` continues from
        there."""
        self._end_was_met = self._ended = end_was_met
        if end_was_met:
            self._ready.append(StopIteration())

    def reset(self) -> bool:
        """Start again if the user has reached the end of the data; otherwise without effect.
        Returns whether the end had been reached."""
        with self._changed:
            if not self._end_was_met:
                return False
            self._ready.clear()
            self.plan.reset()
            self._ended = self._end_was_met = False
            self._changed.notify_all()
            return True

    def close(self, timeout: float = 5.0) -> None:
        """Stop all threads. A callback that never returns is abandoned."""
        if self._process != os.getpid():
            return  # its threads do not exist here, and may hold its locks forever
        with self._changed:
            self.closed = True
            self._changed.notify_all()
            self._filled.notify_all()
        self.plan.pool.cancelled = self._reading.cancelled = True
        self.plan.close()
        until = time.monotonic() + timeout
        for thread in self._makers:
            if thread is not threading.current_thread():
                thread.join(max(until - time.monotonic(), 0.0))
        self._runners.stop(timeout)
        self._ready.clear()
        self._early.clear()
        self.plan.close_stage()
        for pool in (self.plan.pool, self._reading):
            pool.close()


def _make_batches(
    reference: weakref.ref[Executor], changed: threading.Condition, turn: threading.Lock
) -> None:
    """A thread that reads batch after batch, when it is its turn, and has the graph run."""
    while True:
        with turn:
            found = _next_batch(reference, changed)
            if found is None:
                return
            executor, number = found
            read = executor._read(number)
        if read is not None:
            executor._go_on(number, read)
        del executor, found, read  # a waiting thread must not keep the last batch's buffers alive


def _next_batch(
    reference: weakref.ref[Executor], changed: threading.Condition
) -> tuple[Executor, int] | None:
    """Wait until there is room for a batch. Returns its number, or None if no more batches are
    made. A waiting thread does not keep the executor alive: a source may refer to the pipeline,
    which is then freed with its last reference."""
    waited, queued = 0, False
    with changed:
        while True:
            executor = reference()
            if executor is None or executor.closed:
                return None
            if executor._may_begin():
                return executor, executor._begin(waited, queued)
            if not waited and executor._is_full():
                waited = time.perf_counter_ns()
                queued = len(executor._ready) >= executor.depth
            del executor
            changed.wait()


_executors: weakref.WeakSet[Executor] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for executor in list(_executors):
        executor.close(timeout=2.0)
