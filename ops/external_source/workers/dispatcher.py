"""`Dispatcher`: the thread of the master that gives tasks to the workers of a pool.

It assigns at most two tasks to a worker, so that it finds the next one when it is done; it takes
the replies, and notices a worker that ended or that does not answer. The task that this worker was
doing fails; its other tasks go to others, and a new worker is started. Sources that have a
state, iterables, are pinned to one worker.
"""

from __future__ import annotations

import itertools
import multiprocessing.connection
import socket
import threading
from collections import deque
from contextlib import suppress

from gradiva.eager.runtime.threads import started
from gradiva.eager.support.errors import OperatorRuntimeError, without_frames

from .channel import NO_SIGNAL, BrokenMessageError, MessageKind
from .launcher import Launcher, how_it_ended
from .shared_memory import Segment
from .tasks import BadReplyError, Slots, Task, WorkerError
from .worker_handle import WorkerHandle

_DEPTH = 2
_TICK = 0.5
_LEAST_TO_START = 60.0
"""Seconds that a worker may take to start, however little a call may."""


class Dispatcher:
    """Submits tasks and collects results. `ProcessPool` adds the sources and the workers."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self._slots: list[Slots] = []
        self._pinned: dict[int, int] = {}
        self._numbers = itertools.count()
        self._waiting: deque[Task] = deque()
        self._changed = threading.Condition(threading.RLock())
        self._workers: list[WorkerHandle] = []
        self._launcher: Launcher | None = None
        self._payload: tuple[int, Segment] | None = None
        self._thread: threading.Thread | None = None
        self._wake: socket.socket | None = None
        self._woken: socket.socket | None = None
        self._closed = False
        self._clean = False

    def generation(self, source: int) -> int:
        """The generation of its worker, for a source with a state, which is lost when the worker
        ends."""
        with self._changed:
            return self._pinned_worker(source).generation

    def _pinned_worker(self, source: int) -> WorkerHandle:
        return self._workers[self._pinned[source] % len(self._workers)]

    def submit(self, task: Task) -> None:
        """Submit a task."""
        with self._changed:
            task.number = next(self._numbers)
            self._waiting.append(task)
            if self._thread is None and not self._closed:
                self._thread = started(self._run, "gradiva-processes")
        self._wake_thread()

    def wait(self, task: Task) -> None:
        """Wait until a task is finished. Raises OperatorRuntimeError if the pool is closed."""
        with self._changed:
            while not task.finished:
                if self._closed or self._thread is None or not self._thread.is_alive():
                    raise OperatorRuntimeError("the pipeline was closed while data was awaited")
                self._changed.wait(1.0)

    def release(self, task: Task) -> None:
        """Discard a task: its result is no longer needed."""
        with self._changed:
            task.cancelled = True
            if task in self._waiting:
                self._waiting.remove(task)
                self._free(task)
            elif task.finished:
                self._free(task)

    def _free(self, task: Task) -> None:
        slot, task.slot = task.slot, None
        if slot is not None:
            self._slots[task.source].give_back(slot)

    def _wake_thread(self) -> None:
        try:
            if self._wake is not None:
                self._wake.send(b"x", NO_SIGNAL)
        except OSError:
            pass  # a full pipe wakes the thread as well; or it is closed

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            # When the thread ends, the workers end, too, and waiting callers get an error.
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            self._clean_up()

    def _clean_up(self) -> None:
        """Stop the workers, and free the memory."""
        raise NotImplementedError

    def _serve(self) -> None:
        """The main function of the thread. Returns when the pool is closed."""
        assert self._woken is not None
        while True:
            with self._changed:
                if self._closed:
                    return
                self._assign_tasks()
                self._changed.notify_all()
                sockets = {
                    worker.process.connection: worker for worker in self._workers if worker.process
                }
            ready = multiprocessing.connection.wait([self._woken, *sockets], self._tick())
            if self._woken in ready:
                with suppress(OSError):
                    self._woken.recv(4096)
            with self._changed:
                for connection, worker in sockets.items():
                    if connection in ready and not self._closed:
                        self._receive(worker)
                if not self._closed:
                    self._check_time()

    def _tick(self) -> float:
        return _TICK if self.timeout is None else min(_TICK, self.timeout / 4)

    def _assign_tasks(self) -> None:
        """Assign waiting tasks, the oldest first, to the workers with the fewest tasks."""
        if self._waiting and any(worker.process is None for worker in self._workers):
            self._restart_workers()
        kept: deque[Task] = deque()
        while self._waiting:
            task = self._waiting.popleft()
            if task.cancelled:
                self._finish(task)
                continue
            if task.source in self._pinned:
                worker = self._pinned_worker(task.source)
                if task.generation != worker.generation:
                    task.stale = True
                    self._finish(task)
                    continue
            else:
                worker = min(self._workers, key=_load)
            if worker.process is None or len(worker.tasks) >= _DEPTH:
                kept.append(task)
                continue
            try:
                if task.slot is None:
                    task.slot = self._slots[task.source].take(self._numbers)
                worker.assign(task)
            except OperatorRuntimeError as error:
                self._finish(task, error)
            except OSError:
                kept.append(task)
                self._end_worker(worker)
        self._waiting = kept

    def _restart_workers(self) -> None:
        """Start the missing workers."""
        assert self._launcher is not None
        for worker in self._workers:
            if worker.process is None:
                try:
                    worker.start(self._launcher, self._payload)
                except OperatorRuntimeError as error:
                    self._fail_all(error)

    def _fail_all(self, error: OperatorRuntimeError) -> None:
        while self._waiting:
            self._finish(self._waiting.popleft(), WorkerError(error.problem))

    def _finish(self, task: Task, error: OperatorRuntimeError | None = None) -> None:
        task.finished = True
        task.error = None if error is None else without_frames(error)
        if task.cancelled or error is not None:
            self._free(task)

    def _receive(self, worker: WorkerHandle) -> None:
        """Process the messages of a worker."""
        try:
            alive = worker.receive()
            for kind, message, _ in worker.messages():
                if kind == MessageKind.READY:
                    worker.ready = True
                elif kind == MessageKind.UNUSABLE:
                    self._end_worker(worker, f"could not load the sources:\n{message.get('why')}")
                    return
                elif kind == MessageKind.NEED:
                    worker.enlarge(message)
                elif kind == MessageKind.DONE:
                    self._finish(worker.done(message))
                else:
                    raise BrokenMessageError("not a reply")
        except (BrokenMessageError, BadReplyError) as error:
            self._end_worker(worker, f"was ended, for it sent what cannot be understood: {error}")
        except OSError:
            self._end_worker(worker)
        else:
            if not alive:
                self._end_worker(worker)

    def _check_time(self) -> None:
        if self.timeout is None:
            return
        for worker in self._workers:
            limit = self.timeout if worker.ready else max(self.timeout, _LEAST_TO_START)
            if worker.stuck_for(2 * self._tick()) > limit:
                stack = worker.end_with_stack()
                below = "; GRADIVA_WORKER_TIMEOUT sets another limit"
                below += f". It was at\n{stack}" if stack else ""
                why = f"was ended, for it did not answer for {limit:g} s"
                self._end_worker(worker, why, below)

    def _end_worker(self, worker: WorkerHandle, why: str | None = None, below: str = "") -> None:
        """A worker has ended, or has to be stopped: its task fails, and its other tasks are
        reassigned.

        below: a text that is appended to the error.
        """
        if worker.process is None:
            return
        if why is not None:
            worker.process.kill()
        why = why or how_it_ended(worker.process.status())
        pid, ready, at = worker.pid, worker.ready, worker.position()
        tasks = worker.detach()
        if not ready:
            self._waiting.extend(tasks)
            tasks = []
            self._fail_all(
                OperatorRuntimeError(f"worker process {pid} {why}, while it was starting{below}")
            )
        elif tasks:
            task = tasks.pop(0)
            sample = at[1] if at[0] == task.number and at[1] >= 0 else None
            which = "" if sample is None else f"sample {sample} of "
            error = WorkerError(
                f"worker process {pid} {why}, in the call for {which}{task.what}{below}",
                sample=sample,
            )
            self._finish(task, error)
        self._waiting.extendleft(reversed(tasks))
        if ready and not self._closed:
            self._restart_workers()


def _load(worker: WorkerHandle) -> int:
    return len(worker.tasks) if worker.process is not None else _DEPTH
