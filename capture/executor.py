"""Runs a compiled graph again and again, ahead of the user.

One scheduler thread per pipeline reads its sources, batch after batch. Two runners take turns to
run the graph on what was read: while one prepares a batch, or waits for its last samples, the
worker pool goes on with that of the other. The work inside a batch is split by sample.
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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradiva.eager import trace
from gradiva.eager.batch import Batch
from gradiva.eager.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.quarantine import Quarantine, apart, collecting_in
from gradiva.eager.source import Source, SourceOperator
from gradiva.eager.threads import WorkerPool

from .checkpoint import Marks
from .dropping import Made, Rows, deliver, in_step
from .epochs import Epochs
from .graph import Graph, Node, Opaque
from .program import Outputs, Positions, Program, Values
from .runners import Runners

if TYPE_CHECKING:
    from gradiva.eager.processes.pool import ProcessPool

__all__ = ["Executor", "Plan"]

_CLOSED = "the pipeline was closed while a batch was awaited"


class _Read(NamedTuple):
    """What was read for a batch."""

    values: Values
    size: int
    positions: dict[Any, Positions]
    noted: Quarantine
    rows: Rows | None
    """Of the samples that are left, among all that were to be read; None if that is all."""


class Plan:
    """A program with its sources opened: `run` makes the next batch of each output.

    `read` is for one thread; `compute` may be called by several, each with what was read for it.
    """

    def __init__(
        self,
        graph: Graph,
        batch_size: int,
        seed: int,
        pool: WorkerPool,
        processes: ProcessPool | None = None,
    ) -> None:
        self.graph = graph
        self.program = Program(graph)
        self.batch_size = batch_size
        self.seed = seed
        self.pool = pool
        self.iteration = 0
        self.epochs: Epochs | None = None
        """What says how large the next batch is, where batches end with the epochs of a reader."""
        self.quarantine = Quarantine()
        self.sources: dict[Node, Source] = {}
        self.marks = Marks(self)
        for node in graph.nodes:
            if isinstance(node.operator, SourceOperator):
                self.sources[node] = self._open(node, node.operator)
        self.processes = processes
        self._kept: dict[Node, tuple[Batch, ...]] = {}
        """What was read for a batch that will be asked for again, because one source failed."""
        self._noted: Quarantine | None = None
        """What was noted meanwhile for that batch."""
        self._wanted = batch_size
        self._turn = 0
        if processes is not None:
            for node, source in self.sources.items():
                try:
                    source.employ(processes, batch_size)
                except GradivaError as error:
                    raise self.program.locate(error, node) from error.__cause__
            processes.start()

    def _open(self, node: Node, operator: SourceOperator[Any]) -> Source:
        given = {
            name: value.value if isinstance(value, Opaque) else value
            for name, value in node.attributes
        }
        seed = int(given.pop("seed", -1))
        try:
            return operator.open(operator.attributes(given), self.seed if seed < 0 else seed)
        except GradivaError as error:
            raise self.program.locate(error, node) from error.__cause__

    def run(self) -> Outputs:
        """The outputs of the next iteration. Raises GradivaError, or StopIteration at the end."""
        return self.compute(self.read(self.pool))

    def read(self, pool: WorkerPool) -> _Read:
        """What the next iteration is made of. Raises as `run` does."""
        values: Values = {}
        noted, self._noted = self._noted or apart(), None
        try:
            with collecting_in(noted):
                size, rows = self._read(values, pool)
            positions = self._positions(values, size)
            self.iteration += 1
        except GradivaError as error:
            if getattr(error, "again", False):
                self._noted = noted
            else:
                self.iteration += 1  # this batch is lost, the next one is another
            raise
        finally:
            # A batch that is asked for again leaves the sources where they were.
            self.marks.note(moved=not self._kept)
        return _Read(values, size, positions, noted, rows)

    def compute(self, read: _Read) -> Outputs:
        """The outputs for what was read. Raises GradivaError."""
        recording = trace.active
        started = 0 if recording is None else recording.now()
        with self.pool.pinned(), collecting_in(read.noted):
            outputs, rows = self.program.run_step(*read[:3], self.seed, self.pool)
        if recording is not None:
            facts = {"batch": recording.number(), "samples": read.size}
            recording.done(self.pool, "batch", "make a batch", started, **facts)
        if rows is None:
            rows = read.rows
        elif read.rows is not None:
            rows = read.rows[rows]
        return Made.of(outputs, read.noted, rows)

    def _read(self, values: Values, pool: WorkerPool) -> tuple[int, Rows | None]:
        """Read every source, also after one has failed, so that they stay in step."""
        failure: BaseException | None = None
        size: int | None = None
        lost: dict[Node, Sequence[int]] = {}
        recording, began = trace.active, 0
        kept, self._kept = self._kept, {}
        if not kept:
            self._wanted = self.batch_size if self.epochs is None else self.epochs.next_size()
        for node, source in self.sources.items():
            if recording is not None:
                began = recording.start(node.operator.name)
            source.turn = self._turn
            try:
                batches = kept.get(node) or source.read(self._wanted, pool)
            except GradivaError as error:
                failure = failure or self.program.locate(error, node)
                continue
            except StopIteration as stop:
                failure = failure or stop
                continue
            if recording is not None:
                recording.call(self.pool, "source", node.operator.name, began, batches)
            if self.program.statistics is not None:
                self.program.statistics.record(node, batches)
            self._kept[node] = batches
            for output, batch in enumerate(batches):
                values[node, output] = batch
            lost[node] = source.lost
            read = len(batches[0]) + len(source.lost)
            if size is not None and read != size and failure is None:
                failure = self.program.locate(
                    OperatorValueError(
                        "all sources of a pipeline deliver batches of one size",
                        expected=f"{size} samples",
                        got=f"{read}",
                    ),
                    node,
                )
            size = read if size is None else size
        self._turn += 1
        if failure is not None:
            # The source that failed will be asked for the same again: the others have theirs.
            self._kept = self._kept if getattr(failure, "again", False) else {}
            raise failure
        self._kept = {}
        return (self.batch_size, None) if size is None else in_step(values, lost, size)

    def _positions(self, values: Values, size: int) -> dict[Any, Positions]:
        """The positions of this batch in each source; under None those of the last source."""
        first = self.iteration * self.batch_size
        found: dict[Any, Positions] = {None: np.arange(first, first + size, dtype=np.int64)}
        for node in self.sources:
            own = values[node, 0].positions
            if own is not None:
                found[node] = found[None] = own
        return found

    def reset(self) -> None:
        self._kept, self._noted = {}, None
        for source in self.sources.values():
            source.reset()

    def demand(self, number: int) -> None:
        """The user waits for batch `number`: sources that are fed must not wait for it longer."""
        for source in self.sources.values():
            source.demand(number)

    def close(self) -> None:
        for source in self.sources.values():
            source.close()
        if self.processes is not None:
            self.processes.close()


class Executor:
    """Keeps up to `depth` batches ready. `get` hands them out in order, with their errors."""

    def __init__(self, plan: Plan, depth: int, threaded: bool) -> None:
        self.plan = plan
        self.depth = depth
        self.threaded = threaded
        self.taken = 0
        """Batches that were handed out, errors included."""
        self.rows: Rows | None = None
        """Which samples the batch that was handed out last has; None if none was left out."""
        self._ready: deque[Outputs | BaseException] = deque()
        self._early: dict[int, Outputs | BaseException] = {}
        self._begun = self._finished = 0
        self._changed = threading.Condition()
        self._ended = False
        self._end_was_met = False
        self._closed = False
        self._scheduler: threading.Thread | None = None
        self._process = os.getpid()
        threads = plan.pool.num_threads
        self._overlaps = threaded and depth > 1 and threads > 1 and not plan.program.acts
        self._reading = plan.pool
        self._runners = Runners(_weakly(weakref.WeakMethod(self._compute)), "runner")
        if self._overlaps:
            plan.pool.apart = True
            # What is read must not wait behind what is computed.
            self._reading = WorkerPool(threads, cpus=plan.pool.cpus)
        _executors.add(self)

    @property
    def started(self) -> bool:
        """Whether a batch was asked for."""
        return self._begun > 0 or self._scheduler is not None

    def get(self) -> Outputs:
        """The next batch. Raises what making it raised; StopIteration at the end of the data."""
        if self._closed or self._process != os.getpid():
            why = "was closed" if self._closed else "belongs to the parent process of this fork"
            raise OperatorRuntimeError(f"this pipeline {why}")
        if not self.threaded:
            return self._run_here()
        with self._changed:
            began = 0 if self._ready else time.perf_counter_ns()
            self._await()
            item = self._ready.popleft()
            if self._closed and isinstance(item, StopIteration):
                raise OperatorRuntimeError(_CLOSED)  # that is how the sources end
            if not self._end_was_met:
                self.plan.marks.hand_out()
            self._line_up()
            self._changed.notify_all()
            recording = trace.active
            if recording is not None:
                recording.taken(self.plan.pool, began, len(self._ready))
            number = self.taken
            self.taken += not isinstance(item, StopIteration)
        if isinstance(item, BaseException):
            # Raised once more at each call after the end, until `reset`; another object, because
            # an exception grows each time it is raised.
            if isinstance(item, StopIteration):
                with self._changed:
                    self._ready.append(StopIteration(*item.args))
                    self._end_was_met = True
            raise item
        return self._deliver(item, number)

    def look(self) -> None:
        """Wait until the next batch is ready, without taking it. Raises what taking it would; does
        nothing where batches are made when they are taken."""
        if self.threaded:
            with self._changed:
                self._await()
                item = self._ready[0]
            if isinstance(item, BaseException):
                raise item

    def _await(self) -> None:
        """Wait until a batch is ready, with the lock held."""
        if self._scheduler is None:
            self._scheduler = threading.Thread(
                target=_schedule,
                args=(weakref.ref(self), self._changed),
                name="gradiva-scheduler",
                daemon=True,
            )
            self._scheduler.start()
        while not self._ready:
            self.plan.demand(self._finished)
            self._changed.wait(1.0)
            threads = (self._scheduler, *self._runners.threads)
            alive = all(thread.is_alive() for thread in threads)
            if not self._ready and (self._closed or not alive):
                raise OperatorRuntimeError(_CLOSED)

    def _run_here(self) -> Outputs:
        if self._end_was_met:
            raise StopIteration
        trace.place.batch = self.taken
        if trace.active is not None:
            trace.active.begun(self.plan.pool)
        self.plan.demand(self._begun)
        self._begun += 1
        try:
            outputs = self.plan.run()
        except StopIteration:
            if self._closed:
                raise OperatorRuntimeError(_CLOSED) from None
            self._end_was_met = True
            raise
        except BaseException:
            self.taken += 1
            raise
        finally:
            self.plan.marks.hand_out()
        self.taken += 1
        return self._deliver(outputs, self.taken - 1)

    def _deliver(self, item: Outputs, number: int) -> Outputs:
        self.rows = item.rows if isinstance(item, Made) else None
        return deliver(item, self.plan.quarantine, number)

    def _may_begin(self) -> bool:
        """Whether there is room for one more batch, and data."""
        return not self._ended and not self._is_full()

    def _begin(self, waited: int, queued: bool) -> int:
        """The number of the next batch. Called under the lock; waited: since when, or 0."""
        recording = trace.active
        if recording is not None and waited:
            why = "wait: the queue is full" if queued else "wait: runners are at work"
            recording.done(self.plan.pool, "wait", why, waited)
        number, self._begun = self._begun, self._begun + 1
        return number

    def _make(self, number: int) -> None:
        """Read for a batch; run the graph too, where there are no runners."""
        trace.place.batch = number
        if trace.active is not None:
            trace.active.begun(self.plan.pool)
        try:
            read = self.plan.read(self._reading)
        except BaseException as error:  # noqa: BLE001  it is raised where the batch is taken
            self._put(number, error)
            return
        if self._overlaps:
            self._runners.put(number, read)
        else:
            self._compute(number, read)

    def _is_full(self) -> bool:
        """Whether all batches are ready or under way that may be.

        One more than the queue holds, where batches overlap: its runner is never without work.
        """
        return len(self._ready) + self._begun - self._finished >= self.depth + self._overlaps

    def _compute(self, number: int, read: _Read) -> None:
        trace.place.batch = number
        item: Outputs | BaseException
        try:
            item = self.plan.compute(read)
        except BaseException as error:  # noqa: BLE001  it is raised where the batch is taken
            item = error
        self._put(number, item)

    def _put(self, number: int, item: Outputs | BaseException) -> None:
        """Into the queue, once all batches before it are there."""
        with self._changed:
            self._ended = self._ended or isinstance(item, StopIteration)
            self._early[number] = item
            self._line_up()
            self._changed.notify_all()

    def _line_up(self) -> None:
        """Move what is made into the queue, as far as there is room. Called under the lock."""
        while self._finished in self._early and len(self._ready) < self.depth:
            self._ready.append(self._early.pop(self._finished))
            self._finished += 1
            recording = trace.active
            if recording is not None:
                recording.put(self.plan.pool, len(self._ready))

    def waiting(self) -> int:
        """Batches that are ready and not yet handed out."""
        with self._changed:
            return sum(not isinstance(item, StopIteration) for item in self._ready)

    def place(self) -> tuple[Any, bool]:
        """The mark of what was handed out last, None without marks; whether the end was met."""
        with self._changed:
            return self.plan.marks.delivered, self._end_was_met

    def begin_at(self, end_was_met: bool) -> None:
        """The sources were put into a place of a checkpoint: the next `get` goes on from there."""
        self._end_was_met = self._ended = end_was_met
        if end_was_met:
            self._ready.append(StopIteration())

    def reset(self) -> bool:
        """Start again, if the user has met the end of the data; else without effect. Returns
        whether it had been met."""
        with self._changed:
            if not self._end_was_met:
                return False
            self._ready.clear()
            self.plan.reset()
            self.plan.marks.again()
            self._ended = self._end_was_met = False
            self._changed.notify_all()
            return True

    def close(self, timeout: float = 5.0) -> None:
        """Stop the scheduler and the workers. A callback that never returns is left behind."""
        if self._process != os.getpid():
            return  # its threads are not here, and its locks may be held by them for ever
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.plan.pool.cancelled = self._reading.cancelled = True
        self.plan.close()
        if self._scheduler not in (None, threading.current_thread()):
            assert self._scheduler is not None
            self._scheduler.join(timeout)
        self._runners.stop(timeout)
        self._ready.clear()
        self._early.clear()
        for pool in (self.plan.pool, self._reading):
            pool.close()


def _schedule(reference: weakref.ref[Executor], changed: threading.Condition) -> None:
    """The scheduler thread: makes one batch after the other. While it waits it does not keep the
    executor: a source may hold the pipeline, which then goes when nobody else holds it."""
    while True:
        waited, queued = 0, False
        with changed:
            while True:
                executor = reference()
                if executor is None or executor._closed:
                    return
                if executor._may_begin():
                    break
                if not waited and executor._is_full():
                    waited = time.perf_counter_ns()
                    queued = len(executor._ready) >= executor.depth
                del executor
                changed.wait()
            number = executor._begin(waited, queued)
        executor._make(number)
        del executor


def _weakly(method: weakref.WeakMethod[Any]) -> Callable[..., None]:
    """A function that calls the method for as long as there is its object."""

    def call(*arguments: Any) -> None:
        bound = method()
        if bound is not None:
            bound(*arguments)

    return call


_executors: weakref.WeakSet[Executor] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for executor in list(_executors):
        executor.close(timeout=2.0)
