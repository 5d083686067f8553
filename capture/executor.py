"""Runs a compiled graph again and again, ahead of the user.

One scheduler thread per pipeline makes batches into a bounded queue; the work inside a batch is
split by sample over the pipeline's worker pool. A batch is an object with its own buffers and its
own error: a bad sample fails that batch, and the next one is made as if nothing had happened.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from typing import Any

import numpy as np

from gradiva.eager import trace
from gradiva.eager.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.source import Source, SourceOperator
from gradiva.eager.threads import WorkerPool

from .graph import Graph, Node, Opaque
from .program import Outputs, Positions, Program, Values

__all__ = ["Executor", "Plan"]


class Plan:
    """A program with its sources opened: `run` makes the next batch of each output."""

    def __init__(self, graph: Graph, batch_size: int, seed: int, pool: WorkerPool) -> None:
        self.graph = graph
        self.program = Program(graph)
        self.batch_size = batch_size
        self.seed = seed
        self.pool = pool
        self.iteration = 0
        self.sources: dict[Node, Source] = {}
        for node in graph.nodes:
            if isinstance(node.operator, SourceOperator):
                self.sources[node] = self._open(node, node.operator)

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
        recording = trace.active
        started = 0 if recording is None else recording.now()
        values: Values = {}
        size = self._read(values)
        positions = self._positions(values, size)
        self.iteration += 1
        outputs = self.program.run(values, size, positions, self.seed, self.pool)
        if recording is not None:
            facts = {"batch": recording.made, "samples": size}
            recording.done(self.pool, "batch", "make a batch", started, **facts)
        return outputs

    def _read(self, values: Values) -> int:
        """Read every source, also after one has failed, so that they stay in step."""
        failure: BaseException | None = None
        size: int | None = None
        recording, began = trace.active, 0
        for node, source in self.sources.items():
            if recording is not None:
                began = recording.start(node.operator.name)
            try:
                batches = source.read(self.batch_size, self.pool)
            except GradivaError as error:
                failure = failure or self.program.locate(error, node)
                continue
            except StopIteration as stop:
                failure = failure or stop
                continue
            if recording is not None:
                recording.call(self.pool, "source", node.operator.name, began, batches)
            for output, batch in enumerate(batches):
                values[node, output] = batch
            read = len(batches[0])
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
        if failure is not None:
            raise failure
        return self.batch_size if size is None else size

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
        for source in self.sources.values():
            source.reset()


class Executor:
    """Keeps up to `depth` batches ready. `get` hands them out in order, with their errors."""

    def __init__(self, plan: Plan, depth: int, threaded: bool) -> None:
        self.plan = plan
        self.depth = depth
        self.threaded = threaded
        self._ready: deque[Outputs | BaseException] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._end_was_met = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        _executors.add(self)

    def get(self) -> Outputs:
        """The next batch. Raises what making it raised; StopIteration at the end of the data."""
        if self._closed or self._process != os.getpid():
            why = "was closed" if self._closed else "belongs to the parent process of this fork"
            raise OperatorRuntimeError(f"this pipeline {why}")
        if not self.threaded:
            return self._run_here()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._schedule, name="gradiva-scheduler", daemon=True
            )
            self._thread.start()
        with self._changed:
            began = 0 if self._ready else time.perf_counter_ns()
            while not self._ready:
                self._changed.wait(1.0)
                if not self._ready and (self._closed or not self._thread.is_alive()):
                    raise OperatorRuntimeError("the pipeline was closed while a batch was awaited")
            item = self._ready.popleft()
            self._changed.notify_all()
            recording = trace.active
            if recording is not None:
                recording.taken(self.plan.pool, began, len(self._ready))
        if isinstance(item, BaseException):
            # Raised once more at each call after the end, until `reset`.
            if isinstance(item, StopIteration):
                with self._changed:
                    self._ready.append(item)
                self._end_was_met = True
            raise item
        return item

    def _run_here(self) -> Outputs:
        if self._end_was_met:
            raise StopIteration
        try:
            return self.plan.run()
        except StopIteration:
            self._end_was_met = True
            raise

    def _schedule(self) -> None:
        while True:
            with self._changed:
                began = time.perf_counter_ns() if len(self._ready) >= self.depth else 0
                while not self._closed and (self._ended or len(self._ready) >= self.depth):
                    self._changed.wait()
                if self._closed:
                    return
                recording = trace.active
                if recording is not None and began:
                    recording.done(self.plan.pool, "wait", "wait: the queue is full", began)
            item: Outputs | BaseException
            try:
                item = self.plan.run()
            except BaseException as error:  # noqa: BLE001  it is raised where the batch is taken
                item = error
            with self._changed:
                self._ended = isinstance(item, StopIteration)
                self._ready.append(item)
                recording = trace.active
                if recording is not None:
                    recording.put(self.plan.pool, len(self._ready))
                self._changed.notify_all()
            del item

    def waiting(self) -> int:
        """Batches that are ready and not yet handed out."""
        with self._changed:
            return sum(not isinstance(item, StopIteration) for item in self._ready)

    def reset(self) -> None:
        """Start again, if the user has met the end of the data; else without effect."""
        with self._changed:
            if not self._end_was_met:
                return
            self._ready.clear()
            self.plan.reset()
            self._ended = self._end_was_met = False
            self._changed.notify_all()

    def close(self, timeout: float = 5.0) -> None:
        """Stop the scheduler and the workers. A callback that never returns is left behind."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.plan.pool.cancelled = True
        if self._thread not in (None, threading.current_thread()):
            assert self._thread is not None
            self._thread.join(timeout)
        self._ready.clear()
        self.plan.pool.close()


_executors: weakref.WeakSet[Executor] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for executor in list(_executors):
        executor.close(timeout=2.0)
